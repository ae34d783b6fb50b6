/* y[n][i][j] = sum over k of a[n][i][k] b[n][k][j]; strides say how a and b lie, rows of y are dense.
 * @split n[]: a a_n[], b b_n[], y y_n[]
 * @split rows of each: a a_row, y columns */
#ifndef EDGEKIT_MATMUL_H
#define EDGEKIT_MATMUL_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n[EK_RANK];   /* matrices, padded with 1 in front */
    int32_t a_n[EK_RANK]; /* strides from matrix to matrix, in elements; 0 repeats one */
    int32_t b_n[EK_RANK];
    int32_t y_n[EK_RANK];
    int32_t a0; /* first element of a */
    int32_t b0;
    int32_t y0;
    int32_t rows;     /* i */
    int32_t inner;    /* k */
    int32_t columns;  /* j */
    int32_t a_row;    /* elements of a from one i to the next */
    int32_t a_inner;  /* ... from one k to the next */
    int32_t b_inner;  /* elements of b from one k to the next */
    int32_t b_column; /* ... from one j to the next: fast where it is 1 */
};

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
