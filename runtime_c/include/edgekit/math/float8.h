/* The 8-, 6- and 4-bit floats of ONNX, one per uint8_t, to and from f32 as the Cast operator defines it.
 *
 *   e4m3fn    448 max, NaN 7F, no infinity         e4m3fnuz  240 max, NaN 80, no infinity, no -0
 *   e5m2    57344 max, infinity 7C, NaN 7E         e5m2fnuz  57344 max, NaN 80, no infinity, no -0
 *   e8m0    powers of two 2^-127 .. 2^127, NaN FF, no sign, no 0
 *   e2m1    6 max    e2m3  7.5 max    e3m2  28 max: no infinity, no NaN
 *
 * Widening is exact. Narrowing rounds once, to nearest, ties to even. What is then out of range becomes the
 * largest value if `saturate`, else infinity or, in formats without one, NaN.
 */
#ifndef EDGEKIT_FLOAT8_H
#define EDGEKIT_FLOAT8_H

#include "edgekit/math/bits.h"

typedef uint8_t ek_f8e4m3fn;
typedef uint8_t ek_f8e4m3fnuz;
typedef uint8_t ek_f8e5m2;
typedef uint8_t ek_f8e5m2fnuz;
typedef uint8_t ek_f8e8m0;
typedef uint8_t ek_f4e2m1;
typedef uint8_t ek_f6e2m3;
typedef uint8_t ek_f6e3m2;

enum ek_round_mode { EK_ROUND_UP, EK_ROUND_DOWN, EK_ROUND_NEAREST };

/* |x| with m fraction bits and that exponent bias, as if there were no largest exponent. */
static inline uint32_t ek_small_float_round(float x, uint32_t m, uint32_t bias)
{
    const uint32_t a = ek_bits_f32(x) & 0x7FFFFFFFu;
    const uint32_t drop = 23u - m;
    const uint32_t least = (128u - bias) << 23; /* smallest normal value, 2^(1 - bias) */
    const uint32_t normal =
        (a - ((127u - bias) << 23) + ((1u << (drop - 1u)) - 1u) + ((a >> drop) & 1u)) >> drop;
    /* Below, results are multiples of 2^(1 - bias - m): the ULP of the float whose addition rounds to one. */
    const uint32_t unit = (151u - bias - m) << 23;
    const float shifted = ek_from_bits_f32(a < least ? a : 0u) + ek_from_bits_f32(unit);
    return a < least ? ek_bits_f32(shifted) - unit : normal;
}

/* The value of a code with m fraction bits whose magnitude (sign removed) is given. */
static inline float ek_small_float_value(uint32_t magnitude, uint32_t sign, uint32_t m, uint32_t bias)
{
    const uint32_t fraction = magnitude << (23u - m);
    const uint32_t least = (128u - bias) << 23;
    const float tiny = ek_from_bits_f32(fraction + least) - ek_from_bits_f32(least);
    const uint32_t u = magnitude >> m ? fraction + ((127u - bias) << 23) : ek_bits_f32(tiny);
    return ek_from_bits_f32(u | (sign ? 0x80000000u : 0u));
}

/* A format with sign: `largest` is the last finite code, `beyond` what follows it, `nan` the code of NaN. */
static inline uint8_t ek_f32_to_signed_f8(
    float x, uint32_t m, uint32_t bias, uint32_t largest, uint32_t beyond, uint32_t nan, int saturate)
{
    const uint32_t magnitude = ek_small_float_round(x, m, bias);
    uint32_t code = magnitude > largest ? (saturate ? largest : beyond) : magnitude;
    code = x != x ? nan : code;
    return (uint8_t)(code | (ek_bits_f32(x) >> 24 & 0x80u));
}

/* A format without -0: its code, 80, is NaN. */
static inline uint8_t ek_f32_to_unsigned_zero_f8(float x, uint32_t m, uint32_t bias, int saturate)
{
    const uint32_t magnitude = ek_small_float_round(x, m, bias);
    const uint32_t sign = ek_bits_f32(x) >> 24 & 0x80u;
    const uint32_t code = magnitude ? magnitude | sign : 0u;
    const uint32_t outside = saturate ? 0x7Fu | sign : 0x80u;
    return (uint8_t)(x != x ? 0x80u : magnitude > 0x7Fu ? outside : code);
}

/* A format without infinity and NaN, of `bits` bits: it always saturates; NaN becomes a zero. */
static inline uint8_t ek_f32_to_finite(float x, uint32_t bits, uint32_t m, uint32_t bias)
{
    const uint32_t top = 1u << (bits - 1u);
    const uint32_t magnitude = ek_small_float_round(x, m, bias);
    const uint32_t code = magnitude < top ? magnitude : top - 1u;
    const uint32_t sign = ek_signbit_f32(x) ? top : 0u;
    return (uint8_t)(x != x ? sign ^ top : code | sign);
}

static inline ek_f8e4m3fn ek_f32_to_f8e4m3fn(float x, int saturate)
{
    return ek_f32_to_signed_f8(x, 3u, 7u, 0x7Eu, 0x7Fu, 0x7Fu, saturate);
}

static inline ek_f8e5m2 ek_f32_to_f8e5m2(float x, int saturate)
{
    return ek_f32_to_signed_f8(x, 2u, 15u, 0x7Bu, 0x7Cu, 0x7Eu, saturate);
}

static inline ek_f8e4m3fnuz ek_f32_to_f8e4m3fnuz(float x, int saturate)
{
    return ek_f32_to_unsigned_zero_f8(x, 3u, 8u, saturate);
}

static inline ek_f8e5m2fnuz ek_f32_to_f8e5m2fnuz(float x, int saturate)
{
    return ek_f32_to_unsigned_zero_f8(x, 2u, 16u, saturate);
}

static inline ek_f4e2m1 ek_f32_to_f4e2m1(float x)
{
    return ek_f32_to_finite(x, 4u, 1u, 1u);
}

static inline ek_f6e2m3 ek_f32_to_f6e2m3(float x)
{
    return ek_f32_to_finite(x, 6u, 3u, 1u);
}

static inline ek_f6e3m2 ek_f32_to_f6e3m2(float x)
{
    return ek_f32_to_finite(x, 6u, 2u, 3u);
}

/* Outside 2^-127 .. 2^127 (0 is) the nearest end if `saturate`, else NaN. The sign is not looked at.
 * EK_ROUND_NEAREST takes ties up. */
static inline ek_f8e8m0 ek_f32_to_f8e8m0(float x, int saturate, enum ek_round_mode mode)
{
    const uint32_t a = ek_bits_f32(x) & 0x7FFFFFFFu;
    const int tiny = a < 0x00800000u;
    /* Between 2^-127 and 2^-126 the exponent bits are 0, the first fraction bit is the leading 1. */
    const uint32_t exponent = a >> 23;
    const uint32_t fraction = tiny ? a << 1 & 0x7FFFFFu : a & 0x7FFFFFu;
    const uint32_t limit = mode == EK_ROUND_UP ? 1u : mode == EK_ROUND_NEAREST ? 0x400000u : 0x800000u;
    uint32_t code = exponent + (fraction >= limit ? 1u : 0u);
    code = a < 0x00400000u ? (saturate ? 0u : 0xFFu) : code;
    code = a > 0x7F000000u ? (saturate ? 0xFEu : 0xFFu) : code;
    return (ek_f8e8m0)(x != x ? 0xFFu : code);
}

static inline float ek_signed_nan_f32(uint32_t sign)
{
    return ek_from_bits_f32(sign ? 0xFFC00000u : 0x7FC00000u);
}

static inline float ek_f8e4m3fn_to_f32(ek_f8e4m3fn h)
{
    const uint32_t a = h & 0x7Fu, sign = h & 0x80u;
    return a == 0x7Fu ? ek_signed_nan_f32(sign) : ek_small_float_value(a, sign, 3u, 7u);
}

static inline float ek_f8e5m2_to_f32(ek_f8e5m2 h)
{
    const uint32_t a = h & 0x7Fu, sign = h & 0x80u;
    const float x = a == 0x7Cu ? ek_copysign_f32(ek_inf_f32(), sign ? -1.0f : 1.0f)
                               : ek_small_float_value(a, sign, 2u, 15u);
    return a > 0x7Cu ? ek_signed_nan_f32(sign) : x;
}

static inline float ek_f8e4m3fnuz_to_f32(ek_f8e4m3fnuz h)
{
    return h == 0x80u ? ek_nan_f32() : ek_small_float_value(h & 0x7Fu, h & 0x80u, 3u, 8u);
}

static inline float ek_f8e5m2fnuz_to_f32(ek_f8e5m2fnuz h)
{
    return h == 0x80u ? ek_nan_f32() : ek_small_float_value(h & 0x7Fu, h & 0x80u, 2u, 16u);
}

/* The codes of 4 and 6 bits are read from the low bits. */
static inline float ek_f4e2m1_to_f32(ek_f4e2m1 h)
{
    return ek_small_float_value(h & 0x7u, h & 0x8u, 1u, 1u);
}

static inline float ek_f6e2m3_to_f32(ek_f6e2m3 h)
{
    return ek_small_float_value(h & 0x1Fu, h & 0x20u, 3u, 1u);
}

static inline float ek_f6e3m2_to_f32(ek_f6e3m2 h)
{
    return ek_small_float_value(h & 0x1Fu, h & 0x20u, 2u, 3u);
}

static inline float ek_f8e8m0_to_f32(ek_f8e8m0 h)
{
    const uint32_t u = h == 0u ? 0x00400000u : (uint32_t)h << 23;
    return h == 0xFFu ? ek_nan_f32() : ek_from_bits_f32(u);
}

#endif
