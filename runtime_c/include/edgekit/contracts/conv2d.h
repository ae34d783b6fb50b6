/* y[n][h][w][o] = clamp(b[o] + sum over i, j, c of x[n][h stride_h + i dilation_h - pad_top][...][c] w[o][i][j][c], lo, hi)
 * x is padded with 0. Outputs are split into `groups`, each of which reads its own part of the channels.
 * @split batch: x in_h * in_w * in_c, y out_h * out_w * out_c
 * @split pixels: x in_c, y out_c
 * @split out_h: x window, y out_w * out_c
 * @split out_c/16 of columns: w packed, b packed, y 1 */
#ifndef EDGEKIT_CONV2D_H
#define EDGEKIT_CONV2D_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/strided_convolution.h"
    EK_T_ACC lo;
    EK_T_ACC hi;
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
