/* y[i] = shrink((x[i] gain(noise[i])) >> snr_shift), where shrink(s) has 6 bits of fraction and s has 12:
 *   s^2 / 4 below 2, s - 1 above
 * gain(n) for n up to 2 is gains[n]; for numbers of k bits, with f = n / 2^(k - 1) - 1 in Q10, and g = gains + 4 k - 6:
 *   g[0] + ((g[2] f / 2^5 + g[1] 2^5) f + 2^14) / 2^15
 * y may be x or noise. */
#ifndef EDGEKIT_PCAN_H
#define EDGEKIT_PCAN_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n; /* channels */
    int32_t snr_shift; /* 0 to 63 */
};

EK_KERNEL void EK_FN(const uint32_t *x, const uint32_t *noise, const int16_t *EK_RESTRICT gains, uint32_t *y,
    const struct EK_STRUCT *p);

#endif
