/* y[n][u][v][o] = clamp(b[o] + sum of x[n][h][w][c] w[o][i][j][c] over all c and all h, w, i, j with
 * u = h stride_h + i dilation_h - pad_top and v = w stride_w + j dilation_w - pad_left, lo, hi).
 * Outputs are split into `groups`, each of which reads its own part of the channels.
 * @split batch: x in_h * in_w * in_c, y out_h * out_w * out_c */
#ifndef EDGEKIT_CONV_TRANSPOSE2D_H
#define EDGEKIT_CONV_TRANSPOSE2D_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/convolution.h"
    int32_t groups;
    EK_T_ACC lo;
    EK_T_ACC hi;
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
