/* The logarithms of f32 and what is built on them: log, log2, log1p, asinh, acosh, atanh. */
#ifndef EDGEKIT_MATH_LOG_F32_H
#define EDGEKIT_MATH_LOG_F32_H

#include "edgekit/math/bits.h"
#include "edgekit/math/math_exp_f32.h"
#include "edgekit/math/math_poly_f32.h"
#include "edgekit/math/math_round_f32.h"

/* x = 2^k * (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), for a positive normal x. */
static inline void ek_log_split_f32(float x, int32_t *k, float *f)
{
    const uint32_t u = ek_bits_f32(x) + (0x3F800000u - 0x3F3504F3u);
    *k = (int32_t)(u >> 23) - 127;
    *f = ek_from_bits_f32((u & 0x7FFFFFu) + 0x3F3504F3u) - 1.0f;
}

/* k ln 2 + log(1 + f) + tail. */
static inline float ek_log_join_f32(int32_t k, float f, float tail)
{
    const float whole = (float)k * EK_LN2_HIGH_F32; /* exact */
    const float square = f * f;
    const float high = whole + f;
    const float low = f - (high - whole);
    const float rest = square * f * ek_log_poly_f32(f) - 0.5f * square;
    return high + (low + (rest + ((float)k * EK_LN2_LOW_F32 + tail)));
}

/* The value of a logarithm at the ends of its domain, y elsewhere; u is x, or 1 + x. */
static inline float ek_log_ends_f32(float u, float y)
{
    y = ek_select_f32(u < 0.0f, ek_nan_f32(), y);
    y = ek_select_f32(u == 0.0f, -ek_inf_f32(), y);
    return ek_select_f32(u < ek_inf_f32(), y, u + u);
}

/* The natural logarithm. Error below 0.91 ULP. */
static inline float ek_log_f32(float x)
{
    const int tiny = x < 1.17549435e-38f;
    int32_t k;
    float f;
    ek_log_split_f32(ek_select_f32(tiny, x * 8388608.0f, x), &k, &f);
    return ek_log_ends_f32(x, ek_log_join_f32(tiny ? k - 23 : k, f, 0.0f));
}

/* The logarithm to base 2, exact for powers of 2. Error below 1.45 ULP. */
static inline float ek_log2_f32(float x)
{
    const int tiny = x < 1.17549435e-38f;
    int32_t k;
    float f, square, high, low;
    ek_log_split_f32(ek_select_f32(tiny, x * 8388608.0f, x), &k, &f);
    k = tiny ? k - 23 : k;
    square = f * f;
    high = (float)k + f;
    low = f - (high - (float)k);
    /* log2(1 + f) = f + (log2(e) - 1) f + ..., so that the leading term is exact. */
    low += (square * f * ek_log_poly_f32(f) - 0.5f * square) * EK_LOG2_E_F32;
    return ek_log_ends_f32(x, high + (low + f * 0.442695041f));
}

/* log(1 + high + low), |low| <= ULP(high), 1 + high > 0 and normal. */
static inline float ek_log1p_parts_f32(float high, float low)
{
    const float u = 1.0f + high;
    const float lost = ek_select_f32(high > 1.0f, (high - u) + 1.0f, (1.0f - u) + high) + low;
    int32_t k;
    float f;
    ek_log_split_f32(u, &k, &f);
    return ek_log_join_f32(k, f, lost / u);
}

/* log(1 + x) without cancellation. Error below 0.95 ULP. */
static inline float ek_log1p_f32(float x)
{
    const int inside = (x > -1.0f) & (x < ek_inf_f32());
    const float y = ek_log_ends_f32(1.0f + x, ek_log1p_parts_f32(ek_select_f32(inside, x, 0.0f), 0.0f));
    return ek_select_f32(ek_fabs_f32(x) < 5.9604645e-08f, x, y);
}

/* log(2 x), also where 2 x overflows; infinity and NaN stay. */
static inline float ek_log_double_f32(float x)
{
    int32_t k;
    float f;
    ek_log_split_f32(x, &k, &f);
    return ek_log_ends_f32(x, ek_log_join_f32(k + 1, f, 0.0f));
}

/* log(x + sqrt(x^2 + 1)) = log1p(x + x^2 / (1 + sqrt(x^2 + 1))). Error below 1.12 ULP. */
static inline float ek_asinh_f32(float x)
{
    const float a = ek_fabs_f32(x);
    const int large = !(a < 1e9f);
    const float square = large ? 0.0f : a * a;
    const float q = square / (1.0f + ek_sqrt_f32(1.0f + square));
    const float high = a + q;
    const float near = ek_log1p_parts_f32(large ? 0.0f : high, large ? 0.0f : (a - high) + q);
    return ek_copysign_f32(large ? ek_log_double_f32(a) : near, x);
}

/* log(x + sqrt(x^2 - 1)) = log1p(t + sqrt(2 t + t^2)), t = x - 1. Error below 1.91 ULP. */
static inline float ek_acosh_f32(float x)
{
    const int near = (x >= 1.0f) & (x < 1e9f);
    const float t = near ? x - 1.0f : 0.0f;
    const float s = ek_sqrt_f32(2.0f * t + t * t);
    const float high = s + t;
    const float y = ek_log1p_parts_f32(high, (s - high) + t);
    const float far = ek_log_double_f32(x);
    return near ? y : x < 1.0f ? ek_nan_f32() : far;
}

/* log1p(2 x / (1 - x)) / 2. Error below 1.70 ULP. */
static inline float ek_atanh_f32(float x)
{
    const float a = ek_fabs_f32(x);
    const float inside = a < 1.0f ? a : 0.0f;
    const float d = 1.0f - inside;
    const float t = 2.0f * inside / d;
    const float y = 0.5f * ek_log1p_parts_f32(t, -t * ((1.0f - d) - inside) / d);
    const float end = a == 1.0f ? ek_inf_f32() : a > 1.0f ? ek_nan_f32() : a;
    return ek_copysign_f32(a < 1.0f ? y : end, x);
}

#endif
