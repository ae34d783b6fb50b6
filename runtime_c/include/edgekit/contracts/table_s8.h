/* y[i] = table[x[i] + 128]: any function of one int8 tensor.
 * @split n/64: x 1, y 1 */
#ifndef EDGEKIT_TABLE_S8_H
#define EDGEKIT_TABLE_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n;
};

EK_KERNEL void EK_FN(const int8_t *x, const int8_t *table, int8_t *y, const struct EK_STRUCT *p);

#endif
