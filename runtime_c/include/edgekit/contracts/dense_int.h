/* y[r][o] = clamp(zero + requantize(b[o] + sum over i of x[r][i] w[o][i]), lo, hi) over integers.
 * b holds the bias less the zero point of x times the sum of the weights.
 * m and e are multipliers and exponents (a common shift in rule E); requantize is EK_EXPR.
 * @split rows: x inputs, y outputs
 * @split outputs/16 of columns: w packed, b packed, m packed, e packed, y 1 */
#ifndef EDGEKIT_DENSE_INT_H
#define EDGEKIT_DENSE_INT_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows;
    int32_t inputs;
    int32_t outputs;
    int32_t zero; /* zero point of y */
    int32_t lo;   /* bounds of y */
    int32_t hi;
};

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, const struct EK_STRUCT *p);

#endif
