/* y[o][j][i] = sum over k of w[j][k] x[o][index[j][k]][i]
 * @split outer: x in_n * inner, y out_n * inner
 * @split out_n: index taps, w taps, y inner */
#ifndef EDGEKIT_RESAMPLE_H
#define EDGEKIT_RESAMPLE_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t outer;
    int32_t in_n;  /* size of the dimension in x, which the index does not exceed */
    int32_t out_n; /* ... in y */
    int32_t inner;
    int32_t taps; /* elements that each result is made of */
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const int32_t *EK_RESTRICT index, const EK_T *EK_RESTRICT w,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p);

#endif
