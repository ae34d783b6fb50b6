/* y[n][h][w][o] = clamp(b[o] + sum over i, j of x[n][h stride_h + i dilation_h - pad_top][...][o / m] w[i][j][o], lo, hi)
 * where m = out_c / in_c. x is padded with 0.
 * @split batch: x in_h * in_w * in_c, y out_h * out_w * out_c
 * @split out_h: x window, y out_w * out_c */
#ifndef EDGEKIT_DEPTHWISE2D_H
#define EDGEKIT_DEPTHWISE2D_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/convolution.h"
    EK_T_ACC lo;
    EK_T_ACC hi;
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
