/* y[n] = (start (+) x[n][r][c] (+) ... over all r, c) / divisor, where (+) is EK_EXPR: a sum, a product, an extreme.
 * n and r stand for up to four dimensions each; c is the last one and dense.
 * @split n[]: x x_n[], y dense[] */
#ifndef EDGEKIT_REDUCE_ROWS_H
#define EDGEKIT_REDUCE_ROWS_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n[4]; /* dimensions that stay, padded with 1 in front */
    int32_t x_n[4]; /* their strides in x, in elements */
    int32_t r[4]; /* dimensions that are reduced, padded with 1 in front */
    int32_t x_r[4]; /* their strides in x, in elements */
    int32_t last; /* size of c */
    EK_T_ACC start; /* what changes nothing: 0, 1, the least, the largest */
    EK_T_ACC divisor;
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
