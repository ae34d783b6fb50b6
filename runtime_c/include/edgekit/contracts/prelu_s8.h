/* y = clamp((u g + constant) >> shift, lo, hi) over int8 with u = a - a_zero, and g = positive for u >= 0, else that of
 * the slope, of 16 bits.
 * @split n[]/64: a sa[], b sb[], y dense[] */
#ifndef EDGEKIT_PRELU_S8_H
#define EDGEKIT_PRELU_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n[EK_RANK]; /* shape, padded with 1 in front */
    int32_t sa[EK_RANK]; /* strides of a, in elements: 0 repeats it */
    int32_t sb[EK_RANK]; /* strides of the slopes */
    int32_t a0; /* first element of a */
    int32_t b0; /* first slope */
    int32_t y0; /* first element of y */
    int32_t a_zero;
    int32_t positive;
    int32_t constant;
    int32_t shift;
    int32_t lo;
    int32_t hi;
};

EK_KERNEL void EK_FN(const int8_t *a, const int16_t *b, int8_t *y, const struct EK_STRUCT *p);

#endif
