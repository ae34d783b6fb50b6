/* y[i] = x[i] 2^bits, where bits is as large as the largest |x[i]| leaves room for. After an x[i] of -32768 the search
 * for the largest begins anew, and what is too large wraps: as TFLite Micro has it. y may be x. */
#ifndef EDGEKIT_FFT_AUTO_SCALE_H
#define EDGEKIT_FFT_AUTO_SCALE_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n;
};

EK_KERNEL void EK_FN(const int16_t *x, int16_t *y, int32_t *EK_RESTRICT bits, const struct EK_STRUCT *p);

#endif
