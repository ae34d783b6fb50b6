/* y[r][i] = (x[r][i] - m) / sqrt(v + epsilon) scale[i] + bias[i], where m is the mean and v the variance of row r.
 * y may be x.
 * @split rows: x n, y n */
#ifndef EDGEKIT_LAYER_NORM_H
#define EDGEKIT_LAYER_NORM_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows;
    int32_t n; /* elements of a row */
    EK_T_ACC epsilon;
};

EK_KERNEL void EK_FN(const EK_T *x, const EK_T *EK_RESTRICT scale, const EK_T *EK_RESTRICT bias, EK_T *y,
    const struct EK_STRUCT *p);

#endif
