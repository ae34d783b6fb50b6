/* y[n] = clamp(zero + requantize(sum over r of (x[n][r] - x_zero)), lo, hi) over int8: a sum or a mean; requantize is
 * EK_EXPR, and divides by the number of elements for a mean. n and r stand for up to five dimensions.
 * @split n[]: x x_n[], y dense[] */
#ifndef EDGEKIT_TOTAL_S8_H
#define EDGEKIT_TOTAL_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n[5]; /* dimensions that stay, padded with 1 in front */
    int32_t x_n[5]; /* their strides in x, in elements */
    int32_t r[5]; /* dimensions that are reduced, padded with 1 in front */
    int32_t x_r[5]; /* their strides in x, in elements */
    int32_t x_zero;
#include "edgekit/contracts/fields/requantized.h"
};

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, int8_t *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
