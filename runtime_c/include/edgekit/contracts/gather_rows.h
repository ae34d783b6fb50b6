/* y[r][i] = x[k][i] where k = index[r], and x lies in blocks of rows: x[k / block][i][k % block]. A negative k counts from
 * the back; one outside of the table is clamped to 0 .. size - 1. */
#ifndef EDGEKIT_GATHER_ROWS_H
#define EDGEKIT_GATHER_ROWS_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows; /* of y */
    int32_t n; /* elements of a row */
    int32_t size; /* rows of the table */
    int32_t block; /* rows whose elements lie side by side */
    int32_t last; /* the width of the last block, if size is no multiple of that */
};

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT x, const EK_I *EK_RESTRICT index, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
