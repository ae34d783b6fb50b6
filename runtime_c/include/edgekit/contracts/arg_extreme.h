/* y[o][i] = the j at which x[o][j][i] is extreme: a later element a takes over from the best so far, b, where EK_EXPR
 * holds. */
#ifndef EDGEKIT_ARG_EXTREME_H
#define EDGEKIT_ARG_EXTREME_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t outer;
    int32_t n; /* size of the dimension that is searched, at least 1 */
    int32_t inner;
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, int64_t *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
