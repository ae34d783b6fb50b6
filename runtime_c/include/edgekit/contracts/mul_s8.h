/* y = clamp(zero + requantize((a - a_zero) (b - b_zero)), lo, hi) over int8; requantize is EK_EXPR.
 * @split n[]/64: a sa[], b sb[], y dense[] */
#ifndef EDGEKIT_MUL_S8_H
#define EDGEKIT_MUL_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n[EK_RANK]; /* shape, padded with 1 in front */
    int32_t sa[EK_RANK]; /* strides of a, in elements: 0 repeats it */
    int32_t sb[EK_RANK]; /* strides of b */
    int32_t a0; /* first element of a */
    int32_t b0; /* first element of b */
    int32_t y0; /* first element of y */
    int32_t a_zero;
    int32_t b_zero;
    int32_t multiplier;
    int32_t exponent;
    int32_t zero;
    int32_t lo;
    int32_t hi;
};

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p);

#endif
