/* y[i] = f(a) over operands with any strides; y is dense. */
#ifndef EDGEKIT_MAP1_ND_H
#define EDGEKIT_MAP1_ND_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n[EK_RANK]; /* shape, padded with 1 in front */
    int32_t sa[EK_RANK]; /* strides of a, in elements */
    int32_t a0; /* first element of a */
    int32_t y0; /* first element of y */
};

EK_KERNEL void EK_FN(const EK_A *pa, EK_Y *py, const struct EK_STRUCT *p);

#endif
