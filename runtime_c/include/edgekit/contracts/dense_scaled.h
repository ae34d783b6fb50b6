/* y = clamp(scale[o] (b[o] + sum over i of x[r][i] w[o][i]), lo, hi).
 * w holds integers, scale[o] is that of those of output o, b is in units of it.
 * @split rows: x inputs, y outputs
 * @split outputs/16 of columns: w packed, b packed, scale packed, y 1 */
#ifndef EDGEKIT_DENSE_SCALED_H
#define EDGEKIT_DENSE_SCALED_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t rows;
    int32_t inputs;
    int32_t outputs;
    EK_T_ACC lo;
    EK_T_ACC hi;
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    const EK_B *EK_RESTRICT scale, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
