/* y = clamp(zero + requantize(b[o] + sum over i, j, c of x w[o][i][j][c]), lo, hi) over integers: x and y of 8 or 16
 * bits, w of 8 or 4, sums of 32, or of 64 where the largest needs them. b holds the bias less in_zero times the sum
 * of the weights; outside of the image x is in_zero. m and e are multipliers and exponents (a common shift in rule E);
 * requantize is EK_EXPR.
 * @split batch: x in_h * in_w * in_c, y out_h * out_w * out_c
 * @split pixels: x in_c, y out_c
 * @split out_h: x window, y out_w * out_c
 * @split out_c/16 of columns: w packed, b packed, m packed, e packed, y 1 */
#ifndef EDGEKIT_CONV2D_INT_H
#define EDGEKIT_CONV2D_INT_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/strided_convolution.h"
    int32_t in_zero; /* zero point of x: what padding holds */
    int32_t zero; /* zero point of y */
    int32_t lo; /* bounds of y */
    int32_t hi;
};

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, const struct EK_STRUCT *p);

#endif
