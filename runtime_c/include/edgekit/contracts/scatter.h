/* y[i . y + sum over c of k_c step_c] = f(what is there, u[i]) for every index i of the shape n, in order, where
 * k_c = index[i . index + c apart] and f is EK_EXPR of a and b: b alone, or a sum, a product, an extreme.
 * A negative k_c counts from the back; one outside of its dimension is clamped to 0 .. size_c - 1. */
#ifndef EDGEKIT_SCATTER_H
#define EDGEKIT_SCATTER_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n[EK_RANK]; /* shape of u, padded with 1 in front */
    int32_t y[EK_RANK]; /* strides of y, in elements */
    int32_t index[EK_RANK]; /* strides of index, in elements */
    int32_t y0; /* first element of y */
    int32_t index0; /* first element of index */
    int32_t u0; /* first element of u, which is dense from there */
    int32_t count; /* components of one index */
    int32_t apart; /* elements of index from one component to the next */
    int32_t size[EK_RANK]; /* what each component indexes: cells of a dimension of y */
    int32_t step[EK_RANK]; /* elements of y from one of these cells to the next */
};

EK_KERNEL void EK_FN(
    const EK_I *EK_RESTRICT index, const EK_T *EK_RESTRICT u, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
