/* y = clamp(zero + requantize(sum of (x - x_zero) over the cells of each window that lie inside the image), lo, hi)
 * over int8; requantize is EK_EXPR, and divides by the number of cells.
 * @split batch: x in_h * in_w * channels, y out_h * out_w * channels
 * @split out_h: x window, y out_w * channels */
#ifndef EDGEKIT_MEANPOOL2D_S8_H
#define EDGEKIT_MEANPOOL2D_S8_H

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
    int32_t x_zero;
    int32_t multiplier;
    int32_t exponent;
    int32_t zero;
    int32_t lo;
    int32_t hi;
};

EK_KERNEL void EK_FN(const int8_t *x, int8_t *y, const struct EK_STRUCT *p);

#endif
