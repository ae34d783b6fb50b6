/* h = f(x[t] + r h) for each t, y[t] = h, where f is EK_EXPR; h starts from h0.
 * @split steps in order: x batch * size, y batch * size, h0 from h */
#ifndef EDGEKIT_RNN_H
#define EDGEKIT_RNN_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t steps;   /* t */
    int32_t batch;   /* independent sequences, side by side in x, h, y */
    int32_t size;    /* elements of h */
    int32_t reverse; /* 1: from the last t to the first */
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT r, const EK_T *h0,
    EK_T *EK_RESTRICT y, EK_T *EK_RESTRICT h, EK_T *EK_RESTRICT gate, const struct EK_STRUCT *p);

#endif
