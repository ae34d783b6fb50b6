/* For each t, with x[t] = (z, s, n) and r = (rz, rs, rn):
 *   z = sigmoid(z + rz h), s = sigmoid(s + rs h)
 *   n = tanh(n + s (rn h + b)), or tanh(n + rn (s h)) if the reset comes first
 *   h = (1 - z) n + z h, y[t] = h; h starts from h0
 * @split steps in order: x 3 * batch * size, y batch * size, h0 from h */
#ifndef EDGEKIT_GRU_H
#define EDGEKIT_GRU_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t steps;       /* t */
    int32_t batch;       /* independent sequences, side by side in x, h, y */
    int32_t size;        /* elements of h */
    int32_t reverse;     /* 1: from the last t to the first */
    int32_t reset_after; /* 1: the first form of n */
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT r, const EK_T *h0,
    const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, EK_T *EK_RESTRICT h, EK_T *EK_RESTRICT gate,
    const struct EK_STRUCT *p);

#endif
