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
    int32_t batch;
    int32_t in_h;
    int32_t in_w;
    int32_t in_c;
    int32_t step_h; /* elements of x from one row to the next */
    int32_t step_w; /* ... one column to the next */
    int32_t step_c; /* ... one channel to the next: 1 unless x is channels-first */
    int32_t out_h;
    int32_t out_w;
    int32_t out_c;
    int32_t k_h;
    int32_t k_w;
    int32_t stride_h;
    int32_t stride_w;
    int32_t pad_top;
    int32_t pad_left;
    int32_t dilation_h;
    int32_t dilation_w;
    int32_t groups;
    EK_T_ACC lo;
    EK_T_ACC hi;
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
