/* y = clamp(zero + requantize(x - x_zero), lo, hi): integers of one scale and width to another; requantize is EK_EXPR.
 * @split n/64: x 1, y 1 */
#ifndef EDGEKIT_REQUANTIZE_H
#define EDGEKIT_REQUANTIZE_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n;
    int32_t x_zero;
#include "edgekit/contracts/fields/requantized.h"
};

EK_KERNEL void EK_FN(const EK_A *x, EK_Y *y, const struct EK_STRUCT *p);

#endif
