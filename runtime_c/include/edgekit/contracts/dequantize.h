/* y = scale (x - zero)
 * @split n/64: x 1, y 1 */
#ifndef EDGEKIT_DEQUANTIZE_H
#define EDGEKIT_DEQUANTIZE_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n;
    float scale;
    int32_t zero;
};

EK_KERNEL void EK_FN(const EK_A *x, float *y, const struct EK_STRUCT *p);

#endif
