/* Adds b to what a kernel has computed, both int8 of different scales, with the parameters of an int8
 * addition in an array. */
#ifndef EDGEKIT_ADDEND_H
#define EDGEKIT_ADDEND_H

#include "edgekit/math/fixed.h"

/* By TFLite's rule. p: zero, multiplier, exponent and sign of y, then those of b; multiplier, exponent, zero and bounds
 * of the sum. */
static inline void ek_add_tfl(int8_t *y, const int8_t *b, const int32_t n, const int32_t *p)
{
    for (int32_t i = 0; i < n; i++) {
        const int32_t wide_y = (y[i] - p[0]) * (1 << 20), wide_b = (b[i] - p[4]) * (1 << 20);
        const int32_t sum =
            p[3] * ek_requantize_tfl(wide_y, p[1], p[2]) + p[7] * ek_requantize_tfl(wide_b, p[5], p[6]);
        y[i] = ek_clamp_s8(p[10] + ek_requantize_tfl(sum, p[8], p[9]), p[11], p[12]);
    }
}

/* By rule E. p: factor of y, factor of b, constant, shift, bounds of the sum. */
static inline void ek_add_affine(int8_t *y, const int8_t *b, const int32_t n, const int32_t *p)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = ek_clamp_s8((y[i] * p[0] + b[i] * p[1] + p[2]) >> p[3], p[4], p[5]);
}

#endif
