/* y = the sum of r and of clamp(zero + requantize(b[o] + sum over i, j, c of x w[o][i][j][c]), lo, hi), all of them int8
 * in scales of their own. b holds the bias less in_zero times the sum of the weights; outside of the image x is in_zero.
 * m and e are multipliers and exponents (a common shift in rule E); requantize is EK_EXPR. y may be r.
 * @split batch: x in_h * in_w * in_c, r out_h * out_w * out_c, y out_h * out_w * out_c
 * @split pixels: x in_c, r out_c, y out_c
 * @split out_h: x window, r out_w * out_c, y out_w * out_c */
#ifndef EDGEKIT_CONV2D_ADD_INT_H
#define EDGEKIT_CONV2D_ADD_INT_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/strided_convolution.h"
    int32_t in_zero; /* zero point of x: what padding holds */
    int32_t zero; /* zero point of the convolution */
    int32_t lo; /* bounds of the convolution */
    int32_t hi;
    int32_t add[13]; /* parameters of the int8 addition of r */
};

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, const EK_Y *r, EK_Y *y,
    const struct EK_STRUCT *p);

#endif
