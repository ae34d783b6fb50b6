/* y = clamp(r + b[o] + sum over i, j, c of x[n][h stride_h + i dilation_h - pad_top][...][c] w[o][i][j][c], lo, hi),
 * with zeros outside of the image. y may be r.
 * @split batch: x in_h * in_w * in_c, r out_h * out_w * out_c, y out_h * out_w * out_c
 * @split pixels: x in_c, r out_c, y out_c
 * @split out_h: x window, r out_w * out_c, y out_w * out_c */
#ifndef EDGEKIT_CONV2D_ADD_H
#define EDGEKIT_CONV2D_ADD_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/strided_convolution.h"
    EK_T_ACC lo;
    EK_T_ACC hi;
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    const EK_T *r, EK_T *y, const struct EK_STRUCT *p);

#endif
