/* index[d][m] = the place along dimension d of the m-th element of x that is not 0, *count their number; from there on
 * index is 0. */
#ifndef EDGEKIT_NON_ZERO_H
#define EDGEKIT_NON_ZERO_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t n; /* elements of x */
    int32_t rank;
    int32_t size[EK_RANK]; /* of each dimension */
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, int64_t *EK_RESTRICT index, int64_t *EK_RESTRICT count,
    const struct EK_STRUCT *p);

#endif
