/* The exponential family of f64: exp, exp2, expm1, sigmoid, gate, tanh, erf, sinh, cosh. */
#ifndef EDGEKIT_MATH_EXP_F64_H
#define EDGEKIT_MATH_EXP_F64_H

#include "edgekit/math/bits.h"
#include "edgekit/math/math_poly_f64.h"

/* ln 2 in two parts: the first has so few bits that a product with an exponent is exact. */
#define EK_LN2_HIGH_F64 0.6931471805598903
#define EK_LN2_LOW_F64 5.497923018708371e-14
#define EK_LOG2_E_F64 1.4426950408889634

/* x * 2^n with one rounding, also when the result is subnormal; |n| <= 2044. */
static inline double ek_scale_f64(double x, int32_t n)
{
    const int32_t half = n / 2;
    return x * ek_pow2_f64(half) * ek_pow2_f64(n - half);
}

/* exp(x + tail) = 2^n * result, for |x| <= 1500. */
static inline double ek_exp_parts_f64(double x, double tail, int32_t *n)
{
    const int32_t k = (int32_t)(x * EK_LOG2_E_F64 + (x < 0.0 ? -0.5 : 0.5));
    const double a = x - k * EK_LN2_HIGH_F64; /* exact */
    const double b = k * EK_LN2_LOW_F64 - tail;
    const double r = a - b;
    *n = k;
    return 1.0 + (r + (r * r * ek_exp_poly_f64(r) + ((a - r) - b)));
}

/* exp(x). Error below 0.95 ULP. */
static inline double ek_exp_f64(double x)
{
    int32_t n;
    double m;
    if (x != x) {
        return x + x;
    }
    m = ek_exp_parts_f64(x > 710.0 ? 710.0 : x < -746.0 ? -746.0 : x, 0.0, &n);
    return ek_scale_f64(m, n);
}

/* 2 to the power x. Error below 1.10 ULP. */
static inline double ek_exp2_f64(double x)
{
    double c = x > 1025.0 ? 1025.0 : x < -1076.0 ? -1076.0 : x;
    int32_t k, n;
    double m;
    if (x != x) {
        return x + x;
    }
    k = (int32_t)(c + (c < 0.0 ? -0.5 : 0.5));
    m = ek_exp_parts_f64((c - k) * 0.6931471805599453, (c - k) * 2.3190468138462996e-17, &n);
    return ek_scale_f64(m, k + n);
}

/* The same for x <= 0, as weights of attention have it. */
static inline double ek_exp2_below_f64(double x)
{
    return ek_exp2_f64(x);
}

/* exp(x) - 1 without cancellation. Error below 1.20 ULP. */
static inline double ek_expm1_f64(double x)
{
    const double c = x > 710.0 ? 710.0 : x < -50.0 ? -50.0 : x;
    int32_t k;
    double a, b, r, s, half, one, sum, rest;
    if (!(ek_fabs_f64(x) >= 1e-17)) { /* also 0 and NaN */
        return x;
    }
    k = (int32_t)(c * EK_LOG2_E_F64 + (c < 0.0 ? -0.5 : 0.5));
    a = c - k * EK_LN2_HIGH_F64;
    b = k * EK_LN2_LOW_F64;
    r = a - b;
    s = r * r * ek_exp_poly_f64(r) + ((a - r) - b);
    /* Half the result: 2^(k-1) - 1/2 + 2^(k-1) (r + s); halves, because 2^1024 is no float. */
    half = ek_pow2_f64(k - 1);
    one = half - 0.5;
    rest = k > 0 ? (half - one) - 0.5 : 0.0;
    r *= half;
    sum = one + r;
    rest += ek_fabs_f64(one) > ek_fabs_f64(r) ? (one - sum) + r : (r - sum) + one;
    return 2.0 * (sum + (rest + half * s));
}

/* 1 / (1 + exp(-x)). Error below 2.50 ULP. */
static inline double ek_sigmoid_f64(double x)
{
    const double e = ek_exp_f64(-ek_fabs_f64(x));
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

/* The same for a factor of x, as in x sigmoid(x). */
static inline double ek_gate_f64(double x)
{
    return ek_sigmoid_f64(x);
}

/* tanh(x) = t / (t + 2), t = exp(2 x) - 1. Error below 3.00 ULP. */
static inline double ek_tanh_f64(double x)
{
    const double a = ek_fabs_f64(x);
    const double t = ek_expm1_f64(a < 22.0 ? 2.0 * a : 44.0);
    return x != x ? x + x : ek_copysign_f64(t / (t + 2.0), x);
}

/* The error function. Error below 1.50 ULP. */
static inline double ek_erf_f64(double x)
{
    const double a = ek_fabs_f64(x);
    int32_t n;
    double log_erfc, m;
    if (x != x) {
        return x + x;
    }
    if (a < 0.9) {
        return x + x * ek_erf_poly_f64(x * x);
    }
    if (a >= 6.0) {
        return ek_copysign_f64(1.0, x);
    }
    log_erfc = a < 2.2 ? ek_log_erfc_near_poly_f64(a - 1.55) : ek_log_erfc_far_poly_f64(a - 4.0);
    m = ek_exp_parts_f64(log_erfc, 0.0, &n);
    return ek_copysign_f64(1.0 - m * ek_pow2_f64(n), x);
}

/* exp(a) / 2 for 0 <= a, which may be finite where exp(a) is not. */
static inline double ek_half_exp_f64(double a)
{
    int32_t n;
    const double m = ek_exp_parts_f64(a < 711.0 ? a : 711.0, 0.0, &n);
    return ek_scale_f64(m, n - 1);
}

/* (exp(x) + exp(-x)) / 2. Error below 1.50 ULP. */
static inline double ek_cosh_f64(double x)
{
    const double half = ek_half_exp_f64(ek_fabs_f64(x));
    return x != x ? x + x : half + 0.25 / half;
}

/* (exp(x) - exp(-x)) / 2. Error below 3.00 ULP. */
static inline double ek_sinh_f64(double x)
{
    const double a = ek_fabs_f64(x);
    double y;
    if (x != x) {
        return x + x;
    }
    if (a < 1.0) {
        const double t = ek_expm1_f64(a);
        y = 0.5 * (t + t / (t + 1.0));
    } else {
        const double half = ek_half_exp_f64(a);
        y = half - 0.25 / half;
    }
    return ek_copysign_f64(y, x);
}

#endif
