/* y = the mean of the cells of each window that lie inside the image, over int8 of one scale: halves are rounded
 * away from zero, as TFLite does.
 * @split batch: x in_h * in_w * channels, y out_h * out_w * channels
 * @split out_h: x window, y out_w * channels */
#ifndef EDGEKIT_AVGPOOL2D_S8_H
#define EDGEKIT_AVGPOOL2D_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/pooling.h"
};

EK_KERNEL void EK_FN(const int8_t *x, int8_t *y, const struct EK_STRUCT *p);

#endif
