/* y = clamp(scale[o] (b[o] + sum of x[n][h][w][c] w[o][i][j][c] over all c and all h, w, i, j with
 * u = h stride_h + i dilation_h - pad_top and v = w stride_w + j dilation_w - pad_left),
 * lo, hi).
 * w holds integers, scale[o] is that of those of output o, b is in units of it.
 * @split batch: x in_h * in_w * in_c, y out_h * out_w * out_c */
#ifndef EDGEKIT_CONV_TRANSPOSE2D_SCALED_H
#define EDGEKIT_CONV_TRANSPOSE2D_SCALED_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/convolution.h"
    int32_t groups;
    EK_T_ACC lo;
    EK_T_ACC hi;
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    const EK_B *EK_RESTRICT scale, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
