/* y[o][j][i] = first (+) x[o][0][i] (+) ... (+) x[o][j][i], where (+) is EK_EXPR of a and b: a sum or a product. */
#ifndef EDGEKIT_CUMULATIVE_H
#define EDGEKIT_CUMULATIVE_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t outer;
    int32_t n; /* size of the dimension that is summed up */
    int32_t inner;
    int32_t exclusive; /* without x[o][j][i] itself */
    int32_t reverse; /* from the end */
    EK_T_ACC first; /* what changes nothing: 0 or 1 */
};

EK_KERNEL void EK_FN(const EK_T *x, EK_T *y, const struct EK_STRUCT *p);

#endif
