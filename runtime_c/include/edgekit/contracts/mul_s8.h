/* y = clamp(zero + requantize((a - a_zero) (b - b_zero)), lo, hi) over int8; requantize is EK_EXPR.
 * @split n[]/64: a sa[], b sb[], y dense[] */
#ifndef EDGEKIT_MUL_S8_H
#define EDGEKIT_MUL_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/broadcast.h"
    int32_t a_zero;
    int32_t b_zero;
#include "edgekit/contracts/fields/requantized.h"
};

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p);

#endif
