/* y = clamp(zero + (sum of (x - x_zero) over the cells of a window that lie inside the image) m[n] / 2^e[n], lo, hi) over
 * int8, where n is the number of cells that count: those inside the image, or in a border of `counted` cells around
 * it. m and e are multipliers and exponents of rule E, and divide by n.
 * @split batch: x in_h * in_w * channels, y out_h * out_w * channels */
#ifndef EDGEKIT_MEANPOOL2D_BORDER_S8_H
#define EDGEKIT_MEANPOOL2D_BORDER_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/pooling.h"
    int32_t counted_top;
    int32_t counted_left;
    int32_t counted_bottom;
    int32_t counted_right;
    int32_t x_zero;
    int32_t zero;
    int32_t lo;
    int32_t hi;
};

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e,
    int8_t *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
