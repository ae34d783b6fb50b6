/* y[i] = a[i] sigmoid(a[i]) b[i]. y may be a or b.
 * @split n/64: a 1, b 1, y 1 */
#ifndef EDGEKIT_SWIGLU_H
#define EDGEKIT_SWIGLU_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n; /* elements */
};

EK_KERNEL void EK_FN(const EK_T *a, const EK_T *b, EK_T *y, const struct EK_STRUCT *p);

#endif
