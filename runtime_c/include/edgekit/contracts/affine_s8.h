/* y = clamp((first a + second b + constant) >> shift, lo, hi) over int8: a sum or difference by rule E.
 * @split n[]/64: a sa[], b sb[], y dense[] */
#ifndef EDGEKIT_AFFINE_S8_H
#define EDGEKIT_AFFINE_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
#include "edgekit/contracts/fields/broadcast.h"
    int32_t first;
    int32_t second;
    int32_t constant;
    int32_t shift;
    int32_t lo;
    int32_t hi;
};

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p);

#endif
