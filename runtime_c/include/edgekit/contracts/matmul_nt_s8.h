/* y[n][i][j] = clamp(zero + requantize(sum over k of (a[n][i][k] - a_zero) (b[n][j][k] - b_zero)), lo, hi) over int8:
 * dot products of dense rows; rows of y are dense. requantize is EK_EXPR.
 * @split n[]: a a_n[], b b_n[], y y_n[]
 * @split rows of each: a a_row, y columns */
#ifndef EDGEKIT_MATMUL_NT_S8_H
#define EDGEKIT_MATMUL_NT_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n[EK_RANK]; /* matrices, padded with 1 in front */
    int32_t a_n[EK_RANK]; /* strides from matrix to matrix, in elements; 0 repeats one */
    int32_t b_n[EK_RANK];
    int32_t y_n[EK_RANK];
    int32_t a0; /* first element of a */
    int32_t b0;
    int32_t y0;
    int32_t rows; /* i */
    int32_t inner; /* k */
    int32_t columns; /* j */
    int32_t a_row; /* elements of a from one i to the next */
    int32_t b_column; /* elements of b from one j to the next */
    int32_t a_zero;
    int32_t b_zero;
    int32_t multiplier;
    int32_t exponent;
    int32_t zero;
    int32_t lo;
    int32_t hi;
};

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    const struct EK_STRUCT *p);

#endif
