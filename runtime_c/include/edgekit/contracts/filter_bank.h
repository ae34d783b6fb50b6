/* y[c] = sum over band c + 1 of weights x, plus sum over band c of unweights x, modulo 2^64. */
#ifndef EDGEKIT_FILTER_BANK_H
#define EDGEKIT_FILTER_BANK_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t channels;
};

/* bands: of each of channels + 1, the first element of x, the first weight, and how many there are. */
EK_KERNEL void EK_FN(const uint32_t *EK_RESTRICT x, const int16_t *EK_RESTRICT weights,
    const int16_t *EK_RESTRICT unweights, const int16_t *EK_RESTRICT bands, uint64_t *EK_RESTRICT y,
    const struct EK_STRUCT *p);

#endif
