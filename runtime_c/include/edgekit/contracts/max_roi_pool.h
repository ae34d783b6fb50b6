/* y[r][h][w][c] = the largest pixel of channel c of an image in cell h, w of box r, or 0 if none of them lies in the cell.
 * A box is image, left, top, right, bottom: corners are multiplied by `scale` and rounded, halves away from zero. Of its
 * n rows, cell h has those from floor(h n / out_h) up to ceil((h + 1) n / out_h). */
#ifndef EDGEKIT_MAX_ROI_POOL_H
#define EDGEKIT_MAX_ROI_POOL_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t boxes;
    int32_t batch; /* images in x: numbers outside of them mean the nearest */
    int32_t in_h;
    int32_t in_w;
    int32_t channels;
    int32_t out_h;
    int32_t out_w;
    int32_t farthest; /* corner, in pixels: those beyond it are moved there */
    EK_T_ACC scale;
    EK_T_ACC start; /* what changes no maximum: minus infinity */
};

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT boxes, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
