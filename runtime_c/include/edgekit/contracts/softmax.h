/* y[r][i] = exp(x[r][i] - m) / sum over j of exp(x[r][j] - m), where m is the largest of row r. y may be x.
 * @split rows: x n, y n */
#ifndef EDGEKIT_SOFTMAX_H
#define EDGEKIT_SOFTMAX_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows;
    int32_t n; /* elements of a row */
};

EK_KERNEL void EK_FN(const EK_T *x, EK_T *y, const struct EK_STRUCT *p);

#endif
