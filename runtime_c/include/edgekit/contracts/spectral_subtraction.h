/* With s = x 2^smoothing_bits, modulo 2^32, and factors in units of 2^-bits:
 *   next[i] = smoothing s + one_minus_smoothing noise[i]; clamped to s if clamping
 *   y[i] = max((s - min(next[i], s)) / 2^smoothing_bits, min_signal_remaining x[i])
 * Channels of odd number have the alternate factors. next may be noise. */
#ifndef EDGEKIT_SPECTRAL_SUBTRACTION_H
#define EDGEKIT_SPECTRAL_SUBTRACTION_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n; /* channels */
    int32_t smoothing;
    int32_t one_minus_smoothing;
    int32_t alternate_smoothing;
    int32_t alternate_one_minus_smoothing;
    int32_t smoothing_bits; /* 0 to 31 */
    int32_t min_signal_remaining;
    int32_t bits; /* 0 to 63 */
    int32_t clamping; /* 0 or 1 */
};

EK_KERNEL void EK_FN(const uint32_t *EK_RESTRICT x, const uint32_t *noise, uint32_t *next,
    uint32_t *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
