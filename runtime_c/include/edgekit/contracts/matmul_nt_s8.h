/* y[n][i][j] = clamp(zero + requantize(sum over k of (a[n][i][k] - a_zero) (b[n][j][k] - b_zero)), lo, hi) over int8:
 * dot products of dense rows; rows of y are dense. requantize is EK_EXPR.
 * @split n[]: a a_n[], b b_n[], y y_n[]
 * @split rows of each: a a_row, y columns */
#ifndef EDGEKIT_MATMUL_NT_S8_H
#define EDGEKIT_MATMUL_NT_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/matrices.h"
    int32_t b_row; /* elements of b from one j to the next */
    int32_t a_zero;
    int32_t b_zero;
#include "edgekit/contracts/fields/requantized.h"
};

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    const struct EK_STRUCT *p);

#endif
