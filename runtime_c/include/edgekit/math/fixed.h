/* The requantization rules, bit for bit those of EdgeKit's simulator: the only place where scales meet integers.
 * `>>` of a negative number rounds down, as every compiler has it. */
#ifndef EDGEKIT_FIXED_H
#define EDGEKIT_FIXED_H

#include <stdint.h>

/* Rule E: (acc m + 2^(shift-1)) >> shift, 33 <= shift <= 54. */
static inline int32_t ek_requantize_e(int32_t acc, int32_t m, int32_t shift)
{
    return (int32_t)(((int64_t)acc * m + ((int64_t)1 << (shift - 1))) >> shift);
}

/* Rule E for ratios of 1/4 and more, 1 <= shift <= 32: what leaves 30 bits is far outside of int8. */
static inline int32_t ek_requantize_e_wide(int32_t acc, int32_t m, int32_t shift)
{
    const int64_t y = ((int64_t)acc * m + ((int64_t)1 << (shift - 1))) >> shift;
    return y > 1 << 30 ? 1 << 30 : y < -(1 << 30) ? -(1 << 30) : (int32_t)y;
}

/* Rule E for sums of 64 bits: m is narrow enough that the product fits, 1 <= shift <= 54. */
static inline int32_t ek_requantize_e_long(int64_t acc, int32_t m, int32_t shift)
{
    const int64_t y = (acc * m + ((int64_t)1 << (shift - 1))) >> shift;
    return y > 1 << 30 ? 1 << 30 : y < -(1 << 30) ? -(1 << 30) : (int32_t)y;
}

/* (a b + 2^30) >> 31: what TFLite computes as a saturating rounding doubling high product, where not both are -2^31.
 * For products below zero, it truncates (a b + 1 - 2^30) / 2^31, which is the same. */
static inline int32_t ek_high_product(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

/* x / 2^shift, halves away from zero, 1 <= shift <= 31. */
static inline int32_t ek_shift_away(int32_t x, int32_t shift)
{
    return (int32_t)((x + (int64_t)(x >> 31) + ((int64_t)1 << (shift - 1))) >> shift);
}

/* Rule T: acc m / 2^31 2^e with two roundings, -31 <= e <= 30. */
static inline int32_t ek_requantize_tfl(int32_t acc, int32_t m, int32_t e)
{
    if (e >= 0)
        return ek_high_product((int32_t)((uint32_t)acc << e), m);
    const int64_t y = ek_high_product(acc, m);
    return (int32_t)((y + (y >> 63) + ((int64_t)1 << (-e - 1))) >> -e);
}

/* The same for ratios with which results may leave 30 bits: they are far outside of int16 then. */
static inline int32_t ek_requantize_tfl_wide(int32_t acc, int32_t m, int32_t e)
{
    const int32_t y = ek_requantize_tfl(acc, m, e);
    return y > 1 << 30 ? 1 << 30 : y < -(1 << 30) ? -(1 << 30) : y;
}

/* Rule T with one rounding, halves away from zero, as fully connected layers of LiteRT 2 have it; what leaves 30
 * bits is far outside of int16. */
static inline int32_t ek_requantize_once(int32_t acc, int32_t m, int32_t e)
{
    const int64_t product = (int64_t)acc * m;
    const int64_t y = (product + (product >> 63) + ((int64_t)1 << (30 - e))) >> (31 - e);
    return y > 1 << 30 ? 1 << 30 : y < -(1 << 30) ? -(1 << 30) : (int32_t)y;
}

/* 1 / (1 + a) for a in [0, 1), Q0.31: three Newton steps from 48/17 - 32/17 d, in Q2.29. */
static inline int32_t ek_reciprocal_of_one_plus(int32_t a)
{
    const int32_t half = (int32_t)(((int64_t)a + INT32_MAX + 1) >> 1);
    int32_t x = 1515870810 + ek_high_product(half, -1010580540);
    for (int i = 0; i < 3; i++)
        x += 4 * ek_high_product(x, (1 << 29) - ek_high_product(half, x));
    /* 2 x without a branch; 1, which is x = 2^30, as the number before it. */
    return (int32_t)(((uint32_t)x * 2 | (0u - ((uint32_t)x >> 30))) & INT32_MAX);
}

/* Zeros above the highest bit of x > 0: as many steps for any, and nothing in them that compilers branch on. */
static inline int32_t ek_leading_zeros(uint32_t x)
{
    uint32_t zeros = 0;
    for (uint32_t width = 16; width > 0; width >>= 1) {
        const uint32_t first = x >> (32 - width), has_one = (first + (1u << width) - 1) >> width;
        const uint32_t some = width & (has_one - 1);
        x <<= some;
        zeros += some;
    }
    return (int32_t)zeros;
}

/* The larger one of two numbers that are less than 2^31 apart, without a branch. */
static inline int32_t ek_larger(int32_t a, int32_t b)
{
    return a + ((b - a) & ~((b - a) >> 31));
}

/* y, not below lo and not above hi. */
static inline int32_t ek_clamp_s32(int32_t y, int32_t lo, int32_t hi)
{
    return y < lo ? lo : y > hi ? hi : y;
}

/* y, not below lo and not above hi, as int8. */
static inline int8_t ek_clamp_s8(int32_t y, int32_t lo, int32_t hi)
{
    return (int8_t)(y < lo ? lo : y > hi ? hi : y);
}

/* R with R / 2^shift = 1 / sqrt(v), 1 <= v < 2^62: from a table by the first eight bits of v, two steps of Newton's. */
static inline int32_t ek_reciprocal_root(uint64_t v, const uint8_t *seed, int32_t *shift)
{
    int32_t half = -15; /* v / 2^(2 half) has 31 or 32 bits */
    for (uint64_t rest = v >> 2; rest != 0; rest >>= 2)
        half++;
    const uint32_t m = (uint32_t)(half < 0 ? v << -2 * half : v >> 2 * half);
    uint64_t root = (uint64_t)(256u + seed[(m >> 24) - 64u]) << 22;
    for (int i = 0; i < 2; i++) {
        const uint64_t rest = (3u << 28) - ((m * (root * root >> 32)) >> 32);
        root = root * (rest << 2) >> 32 << 1;
    }
    *shift = 46 + half;
    return root > INT32_MAX ? INT32_MAX : (int32_t)root;
}

#endif
