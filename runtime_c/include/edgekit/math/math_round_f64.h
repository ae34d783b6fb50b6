/* Rounding, remainder, square root, minimum and maximum of f64: all exact or correctly rounded. */
#ifndef EDGEKIT_MATH_ROUND_F64_H
#define EDGEKIT_MATH_ROUND_F64_H

#include "edgekit/math/bits.h"

/* Towards zero. Exact. From 2^52 on every float is whole; below, the value fits an int64. */
static inline double ek_trunc_f64(double x)
{
    return ek_fabs_f64(x) < 4503599627370496.0 ? ek_copysign_f64((double)(int64_t)x, x) : x;
}

/* Down. Exact. */
static inline double ek_floor_f64(double x)
{
    const double t = ek_trunc_f64(x);
    return ek_copysign_f64(t > x ? t - 1.0 : t, x);
}

/* Up. Exact. */
static inline double ek_ceil_f64(double x)
{
    const double t = ek_trunc_f64(x);
    return ek_copysign_f64(t < x ? t + 1.0 : t, x);
}

/* To the nearest integer, ties to even. Exact: adding 2^52 pushes the fraction out, rounded. */
static inline double ek_round_even_f64(double x)
{
    const double a = ek_fabs_f64(x);
    return a < 4503599627370496.0 ? ek_copysign_f64((a + 4503599627370496.0) - 4503599627370496.0, x) : x;
}

/* The lesser, as numpy.minimum: NaN if either is NaN. Exact. */
static inline double ek_fmin_f64(double x, double y)
{
    return x < y || x != x ? x : y;
}

/* The greater, as numpy.maximum: NaN if either is NaN. Exact. */
static inline double ek_fmax_f64(double x, double y)
{
    return x > y || x != x ? x : y;
}

/* x - y * trunc(x / y), as fmod of C. Exact. Long division in base 2^11: at most 190 steps. */
static inline double ek_fmod_f64(double x, double y)
{
    const uint64_t fraction = 0xFFFFFFFFFFFFFu, one = (uint64_t)1 << 52;
    const uint64_t sign = ek_bits_f64(x) & 0x8000000000000000u;
    uint64_t a = ek_bits_f64(ek_fabs_f64(x)), b = ek_bits_f64(ek_fabs_f64(y));
    uint32_t a_exponent = (uint32_t)(a >> 52), b_exponent = (uint32_t)(b >> 52), steps;
    if (a >= 0x7FF0000000000000u || b > 0x7FF0000000000000u || b == 0u) {
        return ek_nan_f64();
    }
    if (a < b) {
        return x;
    }
    a = a_exponent ? (a & fraction) | one : a;
    b = b_exponent ? (b & fraction) | one : b;
    a_exponent += a_exponent == 0u;
    b_exponent += b_exponent == 0u;
    a %= b; /* now a < b < 2^53, so a * 2^11 fits */
    for (steps = a_exponent - b_exponent; steps >= 11u && a; steps -= 11u) {
        a = (a << 11) % b;
    }
    a = a ? (a << steps) % b : 0u;
    if (a == 0u) {
        return ek_from_bits_f64(sign);
    }
    while (a < one && b_exponent > 1u) {
        a <<= 1;
        b_exponent--;
    }
    a = a & one ? (a & fraction) | (uint64_t)b_exponent << 52 : a;
    return ek_from_bits_f64(a | sign);
}

/* See EK_SQRT_F32_BUILTIN: the same, where the instruction exists for f64. */
#if defined(__NO_MATH_ERRNO__)                                                                               \
    && (defined(__SSE2__) || defined(__aarch64__) || (defined(__ARM_FP) && (__ARM_FP & 8))                   \
        || (defined(__riscv_fdiv) && defined(__riscv_d)) || defined(__wasm__))
#define EK_SQRT_F64_BUILTIN 1
#else
#define EK_SQRT_F64_BUILTIN 0
#endif

/* The square root in double and integer operations: see ek_sqrt_portable_f32. Correctly rounded. */
static inline double ek_sqrt_portable_f64(double x)
{
    const uint64_t fraction = 0xFFFFFFFFFFFFFu, one = (uint64_t)1 << 52;
    const int tiny = x < 2.2250738585072014e-308;
    const uint64_t u = ek_bits_f64(tiny ? x * 18014398509481984.0 : x);
    const uint64_t odd = ~(u >> 52) & 1u;
    const double m = ek_from_bits_f64((u & fraction) | (1023u + odd) << 52);
    const double half = 0.5 * m;
    double y = ek_from_bits_f64(0x5FE6EB50C7B537A9u - (ek_bits_f64(m) >> 1));
    double s;
    uint64_t root, result;
    int64_t rest;
    int i;
    if (x == 0.0 || !(x < ek_inf_f64())) {
        return x + x;
    }
    if (x < 0.0) {
        return ek_nan_f64();
    }
    for (i = 0; i < 4; i++) {
        y = y * (1.5 - half * y * y);
    }
    s = m * y;
    s = s + 0.5 * y * (m - s * s);
    root = (uint64_t)(int64_t)(s * 4503599627370496.0);
    rest = (int64_t)((((u & fraction) | one) << (52u + odd)) - root * root); /* modulo 2^64 */
    result = root + (uint64_t)(rest > (int64_t)root) - (uint64_t)(rest <= -(int64_t)root);
    result += (((u >> 52) + 1023u) >> 1 << 52) - one - (tiny ? (uint64_t)27 << 52 : 0u);
    return ek_from_bits_f64(result);
}

/* The square root; NaN below zero, -0 for -0. Correctly rounded. */
static inline double ek_sqrt_f64(double x)
{
#if EK_SQRT_F64_BUILTIN
    return __builtin_sqrt(x);
#else
    return ek_sqrt_portable_f64(x);
#endif
}

/* 1 / sqrt(x). Error below 1.60 ULP. */
static inline double ek_rsqrt_f64(double x)
{
    return 1.0 / ek_sqrt_f64(x);
}

#endif
