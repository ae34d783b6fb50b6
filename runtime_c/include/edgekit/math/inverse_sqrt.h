/* 1 / sqrt(x) of an integer as a multiplier and an exponent, as TFLite's L2 normalization computes it. */
#ifndef EDGEKIT_INVERSE_SQRT_H
#define EDGEKIT_INVERSE_SQRT_H

#include "edgekit/math/fixed.h"

/* How often x >= 2 is multiplied (or divided, below zero) by 4 to have 28 or 29 bits. */
static inline int32_t ek_inverse_sqrt_pairs(int32_t x)
{
    int32_t pairs = 0;
    for (; x >= 1 << 29; x /= 4)
        pairs--;
    for (; x < 1 << 27; x *= 4)
        pairs++;
    return pairs;
}

/* The exponent e of 1 / sqrt(x) = m / 2^31 2^e. */
static inline int32_t ek_inverse_sqrt_exponent(int32_t x)
{
    const int32_t shift = x > 1 ? 11 - ek_inverse_sqrt_pairs(x) : 0;
    return shift < 0 ? 0 : -shift;
}

/* The multiplier m: five Newton steps y (3 - x y^2) / 2 in Q3.28, which stay within 32 bits, as all
 * values of `half` show. What is not above 1 counts as 1. */
static inline int32_t ek_inverse_sqrt(int32_t x)
{
    int32_t y = 1 << 28, pairs;
    if (x <= 1)
        return INT32_MAX;
    pairs = ek_inverse_sqrt_pairs(x);
    for (int32_t i = pairs; i < 0; i++)
        x /= 4;
    for (int32_t i = pairs; i > 0; i--)
        x *= 4;
    const int32_t half = ek_shift_away(x >> 1, 1);
    for (int i = 0; i < 5; i++) {
        const int32_t cube = 64 * ek_high_product(ek_high_product(y, y), y);
        y = 8 * (ek_high_product((1 << 28) + (1 << 27), y) - ek_high_product(half, cube));
    }
    y = ek_high_product(y, 1518500250); /* sqrt(2) / 2 */
    return pairs > 11 ? (int32_t)((uint32_t)y << (pairs - 11)) : y;
}

#endif
