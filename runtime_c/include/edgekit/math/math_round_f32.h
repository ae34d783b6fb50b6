/* Rounding, remainder, square root, minimum and maximum of f32: all exact or correctly rounded. */
#ifndef EDGEKIT_MATH_ROUND_F32_H
#define EDGEKIT_MATH_ROUND_F32_H

#include "edgekit/math/bits.h"

/* Towards zero. Exact. From 2^23 on every float is whole; below, the value fits an int32. */
static inline float ek_trunc_f32(float x)
{
    const int small = ek_fabs_f32(x) < 8388608.0f; /* false for NaN */
    const float whole = ek_copysign_f32((float)(int32_t)ek_select_f32(small, x, 0.0f), x);
    return ek_select_f32(small, whole, x);
}

/* Down. Exact. */
static inline float ek_floor_f32(float x)
{
    const float t = ek_trunc_f32(x);
    return ek_copysign_f32(t - ek_select_f32(t > x, 1.0f, 0.0f), x);
}

/* Up. Exact. */
static inline float ek_ceil_f32(float x)
{
    const float t = ek_trunc_f32(x);
    return ek_copysign_f32(t + ek_select_f32(t < x, 1.0f, 0.0f), x);
}

/* To the nearest integer, ties to even. Exact: adding 2^23 pushes the fraction out, rounded. */
static inline float ek_round_even_f32(float x)
{
    const float a = ek_fabs_f32(x);
    const float whole = ek_copysign_f32((a + 8388608.0f) - 8388608.0f, x);
    return ek_select_f32(a < 8388608.0f, whole, x);
}

/* The lesser, as numpy.minimum: NaN if either is NaN. Exact. */
static inline float ek_fmin_f32(float x, float y)
{
    const int first = (x < y) | (x != x);
    return first ? x : y;
}

/* The greater, as numpy.maximum: NaN if either is NaN. Exact. */
static inline float ek_fmax_f32(float x, float y)
{
    const int first = (x > y) | (x != x);
    return first ? x : y;
}

/* x - y * trunc(x / y), as fmodf of C: the sign of x; NaN if x is infinite or y is 0. Exact.
 * Long division in base 256: at most 35 steps, one 32-bit remainder each. */
static inline float ek_fmod_f32(float x, float y)
{
    const uint32_t sign = ek_bits_f32(x) & 0x80000000u;
    uint32_t a = ek_bits_f32(x) & 0x7FFFFFFFu;
    uint32_t b = ek_bits_f32(y) & 0x7FFFFFFFu;
    uint32_t a_exponent = a >> 23, b_exponent = b >> 23, steps;
    if (a >= 0x7F800000u || b > 0x7F800000u || b == 0u) {
        return ek_nan_f32();
    }
    if (a < b) {
        return x;
    }
    a = a_exponent ? (a & 0x7FFFFFu) | 0x800000u : a;
    b = b_exponent ? (b & 0x7FFFFFu) | 0x800000u : b;
    a_exponent += a_exponent == 0u;
    b_exponent += b_exponent == 0u;
    a %= b; /* now a < b < 2^24, so a * 256 fits */
    for (steps = a_exponent - b_exponent; steps >= 8u && a; steps -= 8u) {
        a = (a << 8) % b;
    }
    a = a ? (a << (steps & 7u)) % b : 0u;
    if (a == 0u) {
        return ek_from_bits_f32(sign);
    }
    while (a < 0x800000u && b_exponent > 1u) {
        a <<= 1;
        b_exponent--;
    }
    a = a & 0x800000u ? (a & 0x7FFFFFu) | (b_exponent << 23) : a;
    return ek_from_bits_f32(a | sign);
}

/* Where the square root is one instruction, the builtin is that instruction, but only under -fno-math-errno:
 * otherwise the compiler adds a call to sqrtf for negative numbers. Both ways give the same bits. */
#if defined(__NO_MATH_ERRNO__)                                                                               \
    && (defined(__SSE2__) || defined(__aarch64__) || (defined(__ARM_FP) && (__ARM_FP & 4))                   \
        || (defined(__riscv_fdiv) && defined(__riscv_f)) || defined(__wasm__))
#define EK_SQRT_F32_BUILTIN 1
#else
#define EK_SQRT_F32_BUILTIN 0
#endif

/* The square root in float and integer operations, branch-free. Correctly rounded. */
static inline float ek_sqrt_portable_f32(float x)
{
    /* x = m * 2^(2h), 1 <= m < 4; a subnormal is first made normal. */
    const int tiny = x < 1.17549435e-38f;
    const uint32_t u = ek_bits_f32(ek_select_f32(tiny, x * 16777216.0f, x));
    const uint32_t odd = ~(u >> 23) & 1u;
    const uint32_t whole = (u & 0x7FFFFFu) | 0x800000u;
    const float m = ek_from_bits_f32((u & 0x7FFFFFu) | ((127u + odd) << 23));
    /* y: 1 / sqrt(m) by Newton's method from a linear guess at its bits; s: sqrt(m), off by 1 ULP at most. */
    const float half = 0.5f * m;
    float y = ek_from_bits_f32(0x5F375A86u - (ek_bits_f32(m) >> 1));
    float s;
    uint32_t root, result;
    int32_t rest;
    y = y * (1.5f - half * y * y);
    y = y * (1.5f - half * y * y);
    s = m * y;
    s = s + 0.5f * y * (m - s * s);
    /* The root as an integer r of 24 bits, and what is left of m - r^2: small, so 32 bits hold it. */
    root = (uint32_t)(int32_t)(s * 8388608.0f);
    rest = (int32_t)((whole << 23) + ((whole << 23) & (0u - odd)) - root * root); /* modulo 2^32 */
    /* Nearest: -r < m - r^2 <= r. */
    result = root + (uint32_t)(rest > (int32_t)root) - (uint32_t)(rest <= -(int32_t)root);
    result += (((u >> 23) + 127u) >> 1 << 23) - 0x800000u - ((uint32_t)tiny * (12u << 23));
    s = ek_from_bits_f32(result);
    s = ek_select_f32(x < 0.0f, ek_nan_f32(), s);
    s = ek_select_f32(x < ek_inf_f32(), s, x + x); /* infinity and NaN stay */
    return ek_select_f32(x == 0.0f, x, s);
}

/* The square root; NaN below zero, -0 for -0. Correctly rounded. */
static inline float ek_sqrt_f32(float x)
{
#if EK_SQRT_F32_BUILTIN
    return __builtin_sqrtf(x);
#else
    return ek_sqrt_portable_f32(x);
#endif
}

/* 1 / sqrt(x). Error below 1.50 ULP. */
static inline float ek_rsqrt_f32(float x)
{
    return 1.0f / ek_sqrt_f32(x);
}

#endif
