/* y[i] = re[i]^2 + im[i]^2 of the pairs of x, for start <= i < end; 0 elsewhere. */
#ifndef EDGEKIT_SPECTRUM_ENERGY_H
#define EDGEKIT_SPECTRUM_ENERGY_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n; /* frequencies */
    int32_t start;
    int32_t end;
};

EK_KERNEL void EK_FN(const int16_t *EK_RESTRICT x, uint32_t *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
