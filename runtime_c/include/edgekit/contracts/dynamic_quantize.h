/* y[i] = clamp(round(x[i] / scale) + zero, 0, 255), where scale and zero fit the range of all x and 0:
 *   scale = (max - min) / 255, 1 where that is 0; zero = clamp(round(-min / scale), 0, 255) */
#ifndef EDGEKIT_DYNAMIC_QUANTIZE_H
#define EDGEKIT_DYNAMIC_QUANTIZE_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n;
};

EK_KERNEL void EK_FN(const float *EK_RESTRICT x, uint8_t *EK_RESTRICT y, float *EK_RESTRICT scale,
    uint8_t *EK_RESTRICT zero, const struct EK_STRUCT *p);

#endif
