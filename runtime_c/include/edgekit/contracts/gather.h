/* y[i] = x[i . x + sum over c of k_c step_c] for every index i of the shape n, where k_c = index[i . index + c apart].
 * A negative k_c counts from the back; one outside of its dimension is clamped to 0 .. size_c - 1. */
#ifndef EDGEKIT_GATHER_H
#define EDGEKIT_GATHER_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n[EK_RANK]; /* shape of y, padded with 1 in front */
    int32_t x[EK_RANK]; /* strides of x, in elements */
    int32_t index[EK_RANK]; /* strides of index, in elements */
    int32_t x0; /* first element of x */
    int32_t index0; /* first element of index */
    int32_t y0; /* first element of y, which is dense from there */
    int32_t count; /* components of one index */
    int32_t apart; /* elements of index from one component to the next */
    int32_t size[EK_RANK]; /* what each component indexes: cells of a dimension of x */
    int32_t step[EK_RANK]; /* elements of x from one of these cells to the next */
};

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT x, const EK_I *EK_RESTRICT index, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
