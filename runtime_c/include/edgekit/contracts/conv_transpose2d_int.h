/* y[n][u][v][o] = clamp(zero + requantize(b[o] + sum of (x[n][h][w][c] - in_zero) w[o][i][j][c]), lo, hi) over integers,
 * the sum over all c and all h, w, i, j with u = h stride_h + i dilation_h - pad_top and
 * v = w stride_w + j dilation_w - pad_left. in_zero is not in b, since which weights a result
 * adds up depends on its place. m and e are multipliers and exponents (a common shift in rule E); requantize is
 * EK_EXPR.
 * @split batch: x in_h * in_w * in_c, y out_h * out_w * out_c */
#ifndef EDGEKIT_CONV_TRANSPOSE2D_INT_H
#define EDGEKIT_CONV_TRANSPOSE2D_INT_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/convolution.h"
    int32_t groups;
    int32_t in_zero; /* zero point of x */
    int32_t zero; /* zero point of y */
    int32_t lo; /* bounds of y */
    int32_t hi;
};

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    const struct EK_STRUCT *p);

#endif
