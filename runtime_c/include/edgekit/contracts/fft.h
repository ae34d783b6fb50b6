/* The transform of complex numbers, which are pairs of elements: y[k] = sum over j of x[j] w^(j k) with
 * w = exp(-2 pi i / points), or exp(2 pi i / points) if inverse; integers divided by the radix before each stage. */
#ifndef EDGEKIT_FFT_H
#define EDGEKIT_FFT_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows; /* transforms, one behind the other */
    int32_t inputs; /* elements of x in each; those up to 2 points are 0 */
    int32_t points; /* complex numbers of a transform: the product of all radices */
    int32_t inverse; /* 1: the sign of the exponent is + */
    int32_t stages;
    int32_t radix[16]; /* 2, 3, 4 or 5: of each stage, the last one is computed first */
};

/* w holds the powers of w. */
EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT w, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
