/* y[n][i][j] = sum over k of a[n][i][k] b[n][k][j]; strides say how a and b lie, rows of y are dense.
 * @split n[]: a a_n[], b b_n[], y y_n[]
 * @split rows of each: a a_row, y columns */
#ifndef EDGEKIT_MATMUL_H
#define EDGEKIT_MATMUL_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/matrices.h"
    int32_t a_inner; /* ... from one k to the next */
    int32_t b_row; /* elements of b from one k to the next */
    int32_t b_column; /* ... from one j to the next: fast where it is 1 */
};

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
