/* y[n][h][w][c] = start (+) x[n][h stride_h + i dilation_h - pad_top][...][c] (+) ... over all i, j inside of x,
 * where (+) is EK_EXPR: a maximum or a sum.
 * @split batch: x in_h * in_w * channels, y out_h * out_w * channels
 * @split out_h: x window, y out_w * channels */
#ifndef EDGEKIT_POOL2D_H
#define EDGEKIT_POOL2D_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/pooling.h"
    EK_T_ACC start; /* what changes nothing: 0, the least */
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
