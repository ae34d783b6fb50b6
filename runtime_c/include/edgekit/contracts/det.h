/* y[b] = the determinant of the n x n matrix x[b]; `work` holds n x n numbers. */
#ifndef EDGEKIT_DET_H
#define EDGEKIT_DET_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t batch;
    int32_t n;
};

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, EK_T_ACC *EK_RESTRICT work, const struct EK_STRUCT *p);

#endif
