/* The 16-bit floats, stored as uint16_t: IEEE binary16 (f16) and bfloat16 (bf16), to and from f32 and f64.
 *
 * Widening is exact. Narrowing rounds once, to nearest, ties to even; what is too large becomes infinity; NaN
 * stays NaN and becomes quiet. Branch-free; no step reads or makes a subnormal f32 from an f16.
 */
#ifndef EDGEKIT_HALF_H
#define EDGEKIT_HALF_H

#include "edgekit/math/bits.h"

typedef uint16_t ek_f16;
typedef uint16_t ek_bf16;

static inline float ek_bf16_to_f32(ek_bf16 h)
{
    return ek_from_bits_f32((uint32_t)h << 16);
}

static inline ek_bf16 ek_f32_to_bf16(float x)
{
    const uint32_t u = ek_bits_f32(x);
    const uint32_t nearest = (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16;
    const uint32_t quiet = (u >> 16) | 0x40u;
    return (ek_bf16)ek_select_u32(x != x, quiet, nearest);
}

static inline float ek_f16_to_f32(ek_f16 h)
{
    const uint32_t magnitude = (uint32_t)(h & 0x7FFFu) << 13;
    /* Exponents move from bias 15 to bias 127; the top one, infinity and NaN, moves twice. */
    const uint32_t normal =
        magnitude + (112u << 23) + ek_select_u32(magnitude >= 0x0F800000u, 112u << 23, 0u);
    /* A subnormal is a fraction of 2^-14: put it behind 2^-14, then take 2^-14 away. */
    const float fraction = ek_from_bits_f32(magnitude + (113u << 23)) - 6.10351562e-05f;
    const uint32_t u = ek_select_u32(magnitude < 0x00800000u, ek_bits_f32(fraction), normal);
    return ek_from_bits_f32(u | (uint32_t)(h & 0x8000u) << 16);
}

static inline ek_f16 ek_f32_to_f16(float x)
{
    const uint32_t u = ek_bits_f32(x);
    const uint32_t a = u & 0x7FFFFFFFu;
    const uint32_t normal = (a - (112u << 23) + 0xFFFu + ((a >> 13) & 1u)) >> 13;
    /* Below 2^-14 results are multiples of 2^-24, the ULP of 1/2: adding 1/2 rounds to one. */
    const float shifted = ek_from_bits_f32(ek_select_u32(a < 0x38800000u, a, 0u)) + 0.5f;
    const uint32_t tiny = ek_bits_f32(shifted) - 0x3F000000u;
    uint32_t h = ek_select_u32(a < 0x38800000u, tiny, normal);
    h = ek_select_u32(a >= 0x47800000u, 0x7C00u, h);
    h = ek_select_u32(a > 0x7F800000u, 0x7E00u | ((a >> 13) & 0x3FFu), h);
    return (ek_f16)(h | (u >> 16 & 0x8000u));
}

static inline ek_bf16 ek_f64_to_bf16(double x)
{
    const uint64_t u = ek_bits_f64(x);
    const uint64_t a = u & 0x7FFFFFFFFFFFFFFFu;
    const uint64_t least = (uint64_t)(1023 - 126) << 52; /* 2^-126 */
    const uint64_t normal = (a - ((uint64_t)896 << 52) + 0xFFFFFFFFFFFu + ((a >> 45) & 1u)) >> 45;
    /* Below 2^-126 results are multiples of 2^-133, the ULP of 2^-81. */
    const double shifted = ek_from_bits_f64(a < least ? a : 0u) + ek_pow2_f64(-81);
    const uint64_t tiny = ek_bits_f64(shifted) - ((uint64_t)(1023 - 81) << 52);
    uint64_t h = a < least ? tiny : normal;
    h = a >= (uint64_t)(1023 + 128) << 52 ? 0x7F80u : h;
    h = a > 0x7FF0000000000000u ? 0x7FC0u | ((a >> 45) & 0x3Fu) : h;
    return (ek_bf16)(h | (u >> 48 & 0x8000u));
}

static inline ek_f16 ek_f64_to_f16(double x)
{
    const uint64_t u = ek_bits_f64(x);
    const uint64_t a = u & 0x7FFFFFFFFFFFFFFFu;
    const uint64_t least = (uint64_t)(1023 - 14) << 52; /* 2^-14 */
    const uint64_t normal = (a - ((uint64_t)1008 << 52) + 0x1FFFFFFFFFFu + ((a >> 42) & 1u)) >> 42;
    /* Below 2^-14 results are multiples of 2^-24, the ULP of 2^28. */
    const double shifted = ek_from_bits_f64(a < least ? a : 0u) + 268435456.0;
    const uint64_t tiny = ek_bits_f64(shifted) - ((uint64_t)(1023 + 28) << 52);
    uint64_t h = a < least ? tiny : normal;
    h = a >= (uint64_t)(1023 + 16) << 52 ? 0x7C00u : h;
    h = a > 0x7FF0000000000000u ? 0x7E00u | ((a >> 42) & 0x3FFu) : h;
    return (ek_f16)(h | (u >> 48 & 0x8000u));
}

#endif
