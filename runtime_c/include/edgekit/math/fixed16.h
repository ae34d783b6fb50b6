/* Logistic and tanh on 16 bits, as TFLite computes them. Results are Q0.15. */
#ifndef EDGEKIT_FIXED16_H
#define EDGEKIT_FIXED16_H

#include "edgekit/math/fixed.h"

/* y as int16 holds it: saturated. */
static inline int32_t ek_saturate_s16(int32_t y)
{
    return y > 32767 ? 32767 : y < -32768 ? -32768 : y;
}

/* a b / 2^15, rounded by the sign, the one overflow saturated. */
static inline int32_t ek_high_product_s16(int32_t a, int32_t b)
{
    const int32_t product = a * b;
    return ek_saturate_s16((product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15));
}

/* exp(a) for a <= 0 with 3 to 7 integer bits: a polynomial on the last quarter, then a factor for each bit. */
static inline int32_t ek_exp_of_negative_s16(int32_t a, int32_t integer_bits)
{
    static const int16_t factor[7] = {25520, 19875, 12055, 4435, 600, 11, 0}; /* exp(-1/4), exp(-1/2), ... */
    const int32_t fraction = 15 - integer_bits, quarter = 1 << (fraction - 2);
    const int32_t within = (a & (quarter - 1)) - quarter, rest = within - a;
    const int32_t x = within * (1 << integer_bits) + (1 << 12); /* from -1/8 */
    const int32_t x2 = ek_high_product_s16(x, x), x3 = ek_high_product_s16(x2, x);
    const int32_t x4 = ek_high_product_s16(x2, x2);
    const int32_t third = ek_high_product_s16(ek_shift_away(x4, 2) + x3, 10923);
    int32_t y = ek_saturate_s16(28918 + ek_high_product_s16(28918, x + ek_shift_away(third + x2, 1)));
    if (a == 0)
        return 32767;
    if (integer_bits > 5 && a < -(32 << fraction))
        return 0;
    for (int32_t power = -2; power < (integer_bits < 5 ? integer_bits : 5); power++)
        if (rest & (1 << (fraction + power)))
            y = ek_high_product_s16(y, factor[power + 2]);
    return y;
}

/* 2 / (1 + a) for a in [0, 1), in Q2.13: three Newton steps from 48/17 - 32/17 d. */
static inline int32_t ek_two_over_one_plus_s16(int32_t a)
{
    const int32_t half = (a + 32768) >> 1;
    int32_t x = 23130 + ek_high_product_s16(half, -15420);
    for (int i = 0; i < 3; i++) {
        const int32_t rest = (1 << 13) - ek_high_product_s16(half, x);
        x += ek_saturate_s16(ek_high_product_s16(x, rest) * 4);
    }
    return x;
}

/* 1 / (1 + exp(-x)) for x in Q3.12. */
static inline int32_t ek_logistic_s16(int32_t x)
{
    const int32_t e = ek_exp_of_negative_s16(x < 0 ? x : -x, 3);
    const int32_t y = ek_saturate_s16(ek_two_over_one_plus_s16(e) * 2);
    return x == 0 ? 1 << 14 : x > 0 ? y : 32767 - y;
}

/* tanh(x) for x with 0 to 6 integer bits. */
static inline int32_t ek_tanh_s16(int32_t x, int32_t integer_bits)
{
    const int32_t e = ek_exp_of_negative_s16(x < 0 ? x : -x, integer_bits + 1);
    const int32_t y = ek_saturate_s16((ek_two_over_one_plus_s16(e) - (1 << 13)) * 4);
    return x == 0 ? 0 : x > 0 ? y : -y;
}

#endif
