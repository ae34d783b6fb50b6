/* y = exp(x - max x) / sum of exp(x - max x) for each row of int8, by TFLite's rule. y is int16 of scale 1/65536
 * and zero point -32768; it may not be x. e[-d] is exp(d) of the 256 possible differences from the maximum, Q0.31, and 0
 * where a difference counts for nothing.
 * @split rows: x n, y n */
#ifndef EDGEKIT_SOFTMAX_S8_S16_TFL_H
#define EDGEKIT_SOFTMAX_S8_S16_TFL_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows;
    int32_t n;
};

EK_KERNEL void EK_FN(const int8_t *x, const int32_t *e, int16_t *y, const struct EK_STRUCT *p);

#endif
