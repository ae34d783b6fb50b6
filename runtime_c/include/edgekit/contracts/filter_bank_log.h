/* y[i] = scale ln(x[i] 2^bits), rounded, at most 32767; 0 where x[i] 2^bits, modulo 2^32, is 0 or 1. */
#ifndef EDGEKIT_FILTER_BANK_LOG_H
#define EDGEKIT_FILTER_BANK_LOG_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n; /* channels */
    int32_t scale;
    int32_t bits; /* 0 to 31 */
};

/* table: log2(1 + k / 128) - k / 128 in units of 2^-16, for k = 0 to 128. */
EK_KERNEL void EK_FN(const uint32_t *EK_RESTRICT x, const uint16_t *EK_RESTRICT table, int16_t *EK_RESTRICT y,
    const struct EK_STRUCT *p);

#endif
