/* y[r][i] = x[r][i] / sqrt(s + epsilon) scale[i], where s is the mean of the squares of row r. y may be x.
 * @split rows: x n, y n */
#ifndef EDGEKIT_RMS_NORM_H
#define EDGEKIT_RMS_NORM_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows;
    int32_t n; /* elements of a row */
    EK_T_ACC epsilon;
};

EK_KERNEL void EK_FN(const EK_T *x, const EK_T *EK_RESTRICT scale, EK_T *y, const struct EK_STRUCT *p);

#endif
