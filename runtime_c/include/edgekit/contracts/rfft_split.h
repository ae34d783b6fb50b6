/* Frequencies 0 to points of 2 points real numbers, from the transform x of them as pairs, for 1 <= k < points:
 *   y[k] = ((x[k] + x'[points - k]) + w[k] (x[k] - x'[points - k])) / 2, where ' conjugates
 * Integers are halved twice. w[k] = exp(-pi i (k / points + 1/2)). */
#ifndef EDGEKIT_RFFT_SPLIT_H
#define EDGEKIT_RFFT_SPLIT_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows; /* transforms, one behind the other */
    int32_t points; /* complex numbers of x in each; y has one more */
};

/* w begins with w[1]. */
EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT w, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
