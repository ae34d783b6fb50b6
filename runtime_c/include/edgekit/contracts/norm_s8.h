/* y[r][i] = clamp((z g[i] + b[i]) >> shift, lo, hi) over int8, where z is x[r][i] - x_zero less the mean of its row
 * (if centre), divided by the root of the mean square, with `digits` binary digits. epsilon is added to
 * the sum of squares; the scale of y and its zero point are in g, of 16 bits, and in b. y may be x.
 * @split rows: x n, y n */
#ifndef EDGEKIT_NORM_S8_H
#define EDGEKIT_NORM_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows;
    int32_t n; /* elements of a row, 2^14 at most */
    int32_t centre; /* 1: means are taken off */
    int32_t x_zero;
    int32_t epsilon;
    int32_t digits;
    int32_t shift;
    int32_t lo;
    int32_t hi;
};

EK_KERNEL void EK_FN(const int8_t *x, const uint8_t *seed, const int16_t *EK_RESTRICT g,
    const int32_t *EK_RESTRICT b, int8_t *y, const struct EK_STRUCT *p);

#endif
