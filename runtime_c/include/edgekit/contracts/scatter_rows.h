/* y[o][k] = u[o][j], where k = index[j], for every j in order; all other rows of y are those of x. A negative k counts
 * from the back; one outside of the rows is clamped to 0 .. rows - 1. y may be x: then nothing else is written. */
#ifndef EDGEKIT_SCATTER_ROWS_H
#define EDGEKIT_SCATTER_ROWS_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t outer; /* tensors of rows, one behind the other: heads of a cache, say */
    int32_t rows; /* of each, in x and y */
    int32_t count; /* of each, in u */
    int32_t n; /* elements of a row */
};

EK_KERNEL void EK_FN(const EK_T *x, const EK_I *EK_RESTRICT index, const EK_T *EK_RESTRICT u, EK_T *y,
    const struct EK_STRUCT *p);

#endif
