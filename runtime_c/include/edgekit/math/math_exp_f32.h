/* The exponential family of f32: exp, exp2, expm1, sigmoid, gate, tanh, erf, sinh, cosh. Branch-free. */
#ifndef EDGEKIT_MATH_EXP_F32_H
#define EDGEKIT_MATH_EXP_F32_H

#include "edgekit/math/bits.h"
#include "edgekit/math/math_poly_f32.h"

/* ln 2 in two parts: the first has so few bits that a product with an exponent is exact. */
#define EK_LN2_HIGH_F32 0.693145752f
#define EK_LN2_LOW_F32 1.42860677e-06f
#define EK_LOG2_E_F32 1.44269502f

/* x * 2^n with one rounding, also when the result is subnormal; |n| <= 252, or x is NaN. */
static inline float ek_scale_f32(float x, int32_t n)
{
    const uint32_t half = ((uint32_t)(n + 256) >> 1) - 128u;
    return x * ek_pow2_f32((int32_t)half) * ek_pow2_f32((int32_t)((uint32_t)n - half));
}

/* The whole number nearest to x, for |x| < 2^22: the addition rounds, and leaves it in the low bits. */
static inline int32_t ek_nearest_f32(float x)
{
    return (int32_t)(ek_bits_f32(x + 12582912.0f) - 0x4B400000u);
}

/* exp(x) = 2^n * (high + low), high = 1 + r rounded, for |x| <= 128. */
static inline void ek_exp_parts_f32(float x, int32_t *n, float *high, float *low)
{
    const int32_t k = ek_nearest_f32(x * EK_LOG2_E_F32);
    const float a = x - (float)k * EK_LN2_HIGH_F32; /* exact */
    const float b = (float)k * EK_LN2_LOW_F32;
    const float r = a - b;
    const float h = 1.0f + r;
    *n = k;
    *high = h;
    *low = ((1.0f - h) + r) + (((a - r) - b) + r * r * ek_exp_poly_f32(r));
}

/* 2 to the power c for -126 <= c <= 0. */
static inline float ek_exp2_within_f32(float c)
{
    const int32_t n = ek_nearest_f32(c);
    const float r = c - (float)n;
    return (1.0f + r * ek_exp2_poly_f32(r)) * ek_pow2_f32(n);
}

/* 2 to the power x for x <= 0, as weights of attention have it: numbers below -126 count as -126, so that nothing is
 * subnormal. At most 1.1 ULP off. */
static inline float ek_exp2_below_f32(float x)
{
    return ek_exp2_within_f32(x < -126.0f ? -126.0f : x); /* NaN stays */
}

/* exp(x) where neither overflow nor a subnormal result is possible. */
static inline float ek_exp_normal_f32(float x)
{
    int32_t n;
    float high, low;
    ek_exp_parts_f32(x, &n, &high, &low);
    return (high + low) * ek_pow2_f32(n);
}

/* exp(x). Error below 0.79 ULP. */
static inline float ek_exp_f32(float x)
{
    int32_t n;
    float high, low, y;
    float c = ek_select_f32(x < 89.0f, x, 89.0f); /* beyond: infinity, and 0; NaN becomes a number */
    c = ek_select_f32(c > -104.0f, c, -104.0f);
    ek_exp_parts_f32(c, &n, &high, &low);
    y = ek_scale_f32(high + low, n);
    return ek_select_f32(x != x, x + x, y);
}

/* 2 to the power x. Error below 1.10 ULP. */
static inline float ek_exp2_f32(float x)
{
    float c = ek_select_f32(x < 129.0f, x, 129.0f);
    float r, y;
    int32_t n;
    c = ek_select_f32(c > -151.0f, c, -151.0f);
    n = ek_nearest_f32(c);
    r = c - (float)n;
    y = ek_scale_f32(1.0f + r * ek_exp2_poly_f32(r), n);
    return ek_select_f32(x != x, x + x, y);
}

/* exp(x) - 1 without cancellation. Error below 1.01 ULP. */
static inline float ek_expm1_f32(float x)
{
    float c = ek_select_f32(x < 89.0f, x, 89.0f);
    float a, b, r, s, half, one, sum, rest, y;
    int32_t n;
    c = ek_select_f32(c > -25.0f, c, -25.0f);
    n = ek_nearest_f32(c * EK_LOG2_E_F32);
    a = c - (float)n * EK_LN2_HIGH_F32;
    b = (float)n * EK_LN2_LOW_F32;
    r = a - b;
    s = r * r * ek_exp_poly_f32(r) + ((a - r) - b);
    /* Half the result: 2^(n-1) - 1/2 + 2^(n-1) (r + s); halves, because 2^128 is no float. */
    half = ek_pow2_f32(n - 1);
    one = half - 0.5f;
    rest = ek_select_f32(n > 0, (half - one) - 0.5f, 0.0f);
    r *= half;
    sum = one + r;
    rest += ek_select_f32(ek_fabs_f32(one) > ek_fabs_f32(r), (one - sum) + r, (r - sum) + one);
    y = 2.0f * (sum + (rest + half * s));
    y = ek_select_f32(ek_fabs_f32(x) < 1e-8f, x, y); /* keeps -0 and subnormals */
    return ek_select_f32(x != x, x + x, y);
}

/* exp(-|x|) = 2^n * result, as if |x| were at most most; NaN stays. */
static inline float ek_decay_f32(float x, float most, int32_t *n)
{
    const float a = ek_fabs_f32(x), near = -ek_select_f32(a > most, most, a);
    const int32_t k = ek_nearest_f32(near * EK_LOG2_E_F32);
    const float r = (near - (float)k * EK_LN2_HIGH_F32) - (float)k * EK_LN2_LOW_F32;
    *n = k;
    return 1.0f + r * (1.0f + r * ek_exp_poly_f32(r));
}

/* 1 / (1 + e), or e / (1 + e) where x is below zero, as a number less its product with q = e / (1 + e): what 1 + e
 * lost by rounding counts less so. */
static inline float ek_share_f32(float x, float e)
{
    const float all = ek_select_f32(x < 0.0f, e, 1.0f), q = e / (1.0f + e);
    return all - all * q;
}

/* 1 / (1 + exp(-x)). Error below 1.90 ULP. */
static inline float ek_sigmoid_f32(float x)
{
    int32_t n;
    const float e = ek_decay_f32(x, 104.0f, &n);
    return ek_share_f32(x, ek_scale_f32(e, n));
}

/* The same bits for a factor of x, as in x sigmoid(x), but 0 below -87, so that nothing is subnormal. */
static inline float ek_gate_f32(float x)
{
    int32_t n;
    const float e = ek_decay_f32(x, 87.0f, &n);
    return ek_select_f32(x < -87.0f, 0.0f, ek_share_f32(x, e * ek_pow2_f32(n)));
}

/* tanh(x) = 1 - 2 / (exp(2 x) + 1), near 0 a polynomial. Error below 1.10 ULP. */
static inline float ek_tanh_f32(float x)
{
    const float a = ek_fabs_f32(x);
    const float e = ek_exp_normal_f32(2.0f * ek_select_f32(a < 10.0f, a, 10.0f));
    const float large = 1.0f - 2.0f / (e + 1.0f);
    const float small = a + a * (a * a) * ek_tanh_poly_f32(a * a); /* also for NaN */
    return ek_copysign_f32(ek_select_f32(a >= 0.9f, large, small), x);
}

/* The error function. Error below 1.35 ULP. */
static inline float ek_erf_f32(float x)
{
    const float a = ek_fabs_f32(x);
    const float log_erfc = ek_log_erfc_poly_f32(ek_select_f32(a < 4.0f, a, 4.0f));
    const float large = 1.0f - ek_exp_normal_f32(log_erfc);
    const float small = a + a * ek_erf_poly_f32(a * a); /* also for NaN */
    return ek_copysign_f32(ek_select_f32(a >= 1.0f, large, small), x);
}

/* From exp(a) = 2^n (high + low): exp(a) / 4 as high + low, and exp(-a) / 4. Quarters cannot overflow. */
static inline void ek_quarters_f32(int32_t n, float *high, float *low, float *inverse)
{
    const float quarter = ek_pow2_f32(n - 2);
    const float sum = *high + *low;
    const float rest = ((*high - sum) + *low) * quarter;
    const float i = 0.0625f / (sum * quarter);
    *high = sum * quarter;
    *low = rest;
    *inverse = i - 16.0f * i * i * rest;
}

/* (exp(x) + exp(-x)) / 2. Error below 0.88 ULP. */
static inline float ek_cosh_f32(float x)
{
    const float a = ek_fabs_f32(x);
    float high, low, part, y;
    int32_t n;
    ek_exp_parts_f32(ek_select_f32(a < 89.5f, a, 89.5f), &n, &high, &low);
    ek_quarters_f32(n, &high, &low, &part);
    y = 2.0f * (high + (low + part));
    return ek_select_f32(x != x, x + x, y);
}

/* (exp(x) - exp(-x)) / 2, near 0 a polynomial. Error below 0.81 ULP. */
static inline float ek_sinh_f32(float x)
{
    const float a = ek_fabs_f32(x);
    const float small = a + a * (a * a) * ek_sinh_poly_f32(a * a); /* also for NaN */
    float high, low, part;
    int32_t n;
    ek_exp_parts_f32(ek_select_f32(a < 89.5f, a, 89.5f), &n, &high, &low);
    ek_quarters_f32(n, &high, &low, &part);
    return ek_copysign_f32(ek_select_f32(a >= 1.0f, 2.0f * (high + (low - part)), small), x);
}

#endif
