/* y[r][h][w][c] = mean or maximum of bilinear samples of channel c of an image, in cell h, w of box r.
 * A box is left, top, right, bottom; its coordinates are multiplied by `scale` and moved by -shift. */
#ifndef EDGEKIT_ROI_ALIGN_H
#define EDGEKIT_ROI_ALIGN_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t boxes;
    int32_t batch; /* images in x: numbers outside of them mean the nearest */
    int32_t in_h;
    int32_t in_w;
    int32_t channels;
    int32_t out_h;
    int32_t out_w;
    int32_t samples;      /* along each side of a cell; 0: one for each pixel begun, */
    int32_t most_samples; /* but not more than these */
    int32_t largest;      /* 1: the largest weighted corner of all samples, 0: their mean */
    EK_T_ACC scale;
    EK_T_ACC shift;
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT boxes,
    const int64_t *EK_RESTRICT images, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
