/* y[o][m][i] = the m-th best of x[o][j][i] over all j, at[o][m][i] its j: a is better than b where EK_EXPR holds, and
 * of equal elements the earlier one. */
#ifndef EDGEKIT_TOPK_H
#define EDGEKIT_TOPK_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t outer;
    int32_t n; /* size of the dimension that is searched */
    int32_t inner;
    int32_t k; /* at most n */
};

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, int64_t *EK_RESTRICT at, const struct EK_STRUCT *p);

#endif
