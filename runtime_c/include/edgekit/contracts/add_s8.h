/* y = clamp(zero + a + sign b, lo, hi) over int8 of different scales, by TFLite's rule: both operands go to twice
 * the larger scale with 20 more bits, and their sum to the scale of y.
 * @split n[]/64: a sa[], b sb[], y dense[] */
#ifndef EDGEKIT_ADD_S8_H
#define EDGEKIT_ADD_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/broadcast.h"
    int32_t sign;
    int32_t a_zero;
    int32_t a_multiplier;
    int32_t a_exponent;
    int32_t b_zero;
    int32_t b_multiplier;
    int32_t b_exponent;
#include "edgekit/contracts/fields/requantized.h"
};

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p);

#endif
