/* y[o][j][i] = clamp(zero + requantize(sum over k of w[j][k] (x[o][index[j][k]][i] - x_zero)), lo, hi) over int8, with
 * weights of 16 bits; requantize is EK_EXPR, and divides by what stands for a weight of 1.
 * @split outer: x in_n * inner, y out_n * inner
 * @split out_n: index taps, w taps, y inner */
#ifndef EDGEKIT_RESAMPLE_S8_H
#define EDGEKIT_RESAMPLE_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t outer;
    int32_t in_n; /* size of the dimension in x, which the index does not exceed */
    int32_t out_n; /* ... in y */
    int32_t inner;
    int32_t taps; /* elements that each result is made of */
    int32_t x_zero;
#include "edgekit/contracts/fields/requantized.h"
};

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const int32_t *EK_RESTRICT index,
    const int16_t *EK_RESTRICT w, int8_t *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
