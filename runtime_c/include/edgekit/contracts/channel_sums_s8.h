/* y[c] = start + sum over n of x[n][c], int8 in 32 bits: a part of the sums of an image. start is y0[c] where y0 is y, as in
 * all parts but the first one, and y0[0] for all channels where it is not.
 * @split n in order: x channels, y0 from y */
#ifndef EDGEKIT_CHANNEL_SUMS_S8_H
#define EDGEKIT_CHANNEL_SUMS_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n; /* pixels, 0 or more */
    int32_t channels;
};

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const int32_t *y0, int32_t *y, const struct EK_STRUCT *p);

#endif
