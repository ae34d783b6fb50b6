/* y = exp(x - max x) / sum of exp(x - max x) for each row of int8, scale 1/256, zero point -128. e[-d] is exp(d) of the 256
 * possible differences from the maximum, 2^15 for 1. 32 bits without sign, one division a row.
 * @split rows: x n, y n */
#ifndef EDGEKIT_SOFTMAX_S8_H
#define EDGEKIT_SOFTMAX_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows;
    int32_t n;
};

EK_KERNEL void EK_FN(const int8_t *x, const uint16_t *e, int8_t *y, const struct EK_STRUCT *p);

#endif
