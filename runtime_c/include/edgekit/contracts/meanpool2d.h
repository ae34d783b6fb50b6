/* y[n][h][w][c] = mean over i, j of x[n][h stride_h + i dilation_h - pad_top][...][c]. Cells outside of x are 0; those
 * up to `counted_...` cells outside count for the mean, those further out do not.
 * @split batch: x in_h * in_w * channels, y out_h * out_w * channels */
#ifndef EDGEKIT_MEANPOOL2D_H
#define EDGEKIT_MEANPOOL2D_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/pooling.h"
    int32_t counted_top;
    int32_t counted_left;
    int32_t counted_bottom;
    int32_t counted_right;
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
