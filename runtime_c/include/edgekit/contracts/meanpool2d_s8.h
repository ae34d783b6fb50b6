/* y = clamp(zero + requantize(sum of (x - x_zero) over the cells of each window that lie inside the image), lo, hi)
 * over int8; requantize is EK_EXPR, and divides by the number of cells.
 * @split batch: x in_h * in_w * channels, y out_h * out_w * channels
 * @split out_h: x window, y out_w * channels */
#ifndef EDGEKIT_MEANPOOL2D_S8_H
#define EDGEKIT_MEANPOOL2D_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/pooling.h"
    int32_t x_zero;
#include "edgekit/contracts/fields/requantized.h"
};

EK_KERNEL void EK_FN(const int8_t *x, int8_t *y, const struct EK_STRUCT *p);

#endif
