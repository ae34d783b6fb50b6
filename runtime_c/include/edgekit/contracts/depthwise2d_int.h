/* y = clamp(zero + requantize(b[o] + sum over i, j of x[..][o / multiplier] w[i][j][o]), lo, hi) over integers,
 * where multiplier = out_c / in_c. b holds the bias less in_zero times the sum of the weights; outside of the
 * image x is in_zero. m and e are multipliers and exponents (a common shift in rule E); requantize is EK_EXPR.
 * @split batch: x in_h * in_w * in_c, y out_h * out_w * out_c
 * @split out_h: x window, y out_w * out_c */
#ifndef EDGEKIT_DEPTHWISE2D_INT_H
#define EDGEKIT_DEPTHWISE2D_INT_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/convolution.h"
    int32_t in_zero; /* zero point of x: what padding holds */
    int32_t zero; /* zero point of y */
    int32_t lo; /* bounds of y */
    int32_t hi;
};

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, const struct EK_STRUCT *p);

#endif
