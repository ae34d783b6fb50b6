/* y[y0 + i . y] = x[x0 + i . x] for every index i of the shape n: transposes, slices, padding, repetition.
 * @split n[]/64: x x[], y y[] */
#ifndef EDGEKIT_COPY_H
#define EDGEKIT_COPY_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n[EK_RANK]; /* shape, padded with 1 in front */
    int32_t x[EK_RANK]; /* strides of x, in elements */
    int32_t y[EK_RANK]; /* strides of y, in elements */
    int32_t x0; /* first element of x */
    int32_t y0; /* first element of y */
};

EK_KERNEL void EK_FN(const EK_T *x, EK_T *y, const struct EK_STRUCT *p);

#endif
