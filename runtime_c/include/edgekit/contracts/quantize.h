/* y = clamp(round(x / scale) + zero, lo, hi); round is EK_EXPR; NaN becomes zero.
 * @split n/64: x 1, y 1 */
#ifndef EDGEKIT_QUANTIZE_H
#define EDGEKIT_QUANTIZE_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n;
    float scale;
    int32_t zero;
    int32_t lo;
    int32_t hi;
};

EK_KERNEL void EK_FN(const float *x, EK_Y *y, const struct EK_STRUCT *p);

#endif
