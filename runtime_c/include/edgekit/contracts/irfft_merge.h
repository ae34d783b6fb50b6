/* What the inverse transform takes for 2 points real numbers with the frequencies x[0] to x[points], k < points:
 *   y[k] = (x[k] + x'[points - k]) + w[k] (x[k] - x'[points - k]), where ' conjugates
 * Integers are halved. w[k] = exp(pi i (k / points + 1/2)). */
#ifndef EDGEKIT_IRFFT_MERGE_H
#define EDGEKIT_IRFFT_MERGE_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows; /* transforms, one behind the other */
    int32_t points; /* complex numbers of y in each; x has one more */
};

/* w begins with w[1]. */
EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT w, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
