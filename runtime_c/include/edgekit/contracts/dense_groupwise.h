/* y[r][o] = clamp(b[o] + sum over g of scale[o][g] (sum over i in g of x[r][i] (w[o][i] - zero[o][g])), lo, hi)
 * where i is in group g = i / group: a fully connected layer of floats, whose weights are integers. */
#ifndef EDGEKIT_DENSE_GROUPWISE_H
#define EDGEKIT_DENSE_GROUPWISE_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows;
    int32_t inputs;
    int32_t outputs;
    int32_t group; /* weights that have a scale in common; the last group of a row may be shorter */
    EK_T_ACC lo;
    EK_T_ACC hi;
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_C *EK_RESTRICT scale,
    const EK_Z *EK_RESTRICT zero, const EK_B *EK_RESTRICT b, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
