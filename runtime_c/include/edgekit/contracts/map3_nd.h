/* y[i] = f(a, b, c) over operands with any strides; y is dense.
 * @split n[]/64: pa sa[], pb sb[], pc sc[], py dense[] */
#ifndef EDGEKIT_MAP3_ND_H
#define EDGEKIT_MAP3_ND_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n[EK_RANK]; /* shape, padded with 1 in front */
    int32_t sa[EK_RANK]; /* strides of a, in elements */
    int32_t sb[EK_RANK]; /* strides of b, in elements */
    int32_t sc[EK_RANK]; /* strides of c, in elements */
    int32_t a0; /* first element of a */
    int32_t b0; /* first element of b */
    int32_t c0; /* first element of c */
    int32_t y0; /* first element of y */
};

EK_KERNEL void EK_FN(const EK_A *pa, const EK_B *pb, const EK_C *pc, EK_Y *py, const struct EK_STRUCT *p);

#endif
