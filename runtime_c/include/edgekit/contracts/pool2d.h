/* y[n][h][w][c] = start (+) x[n][h stride_h + i dilation_h - pad_top][...][c] (+) ... over all i, j inside of x,
 * where (+) is EK_EXPR: a maximum or a sum.
 * @split batch: x in_h * in_w * channels, y out_h * out_w * channels
 * @split out_h: x window, y out_w * channels */
#ifndef EDGEKIT_POOL2D_H
#define EDGEKIT_POOL2D_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t batch;
    int32_t in_h;
    int32_t in_w;
    int32_t channels;
    int32_t out_h;
    int32_t out_w;
    int32_t k_h;
    int32_t k_w;
    int32_t stride_h;
    int32_t stride_w;
    int32_t pad_top;
    int32_t pad_left;
    int32_t dilation_h;
    int32_t dilation_w;
    EK_T_ACC start; /* what changes nothing: 0, the least */
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
