/* For each t, with (i, o, f, n) = x[t] + r h:
 *   c = sigmoid(f) c + sigmoid(i) tanh(n)
 *   h = sigmoid(o) tanh(c), y[t] = h; h starts from h0, c from c0
 * @split steps in order: x 4 * batch * size, y batch * size, h0 from h, c0 from c */
#ifndef EDGEKIT_LSTM_H
#define EDGEKIT_LSTM_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t steps;   /* t */
    int32_t batch;   /* independent sequences, side by side in x, h, c, y */
    int32_t size;    /* elements of h and c */
    int32_t reverse; /* 1: from the last t to the first */
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT r, const EK_T *h0, const EK_T *c0,
    EK_T *EK_RESTRICT y, EK_T *EK_RESTRICT h, EK_T *EK_RESTRICT c, EK_T *EK_RESTRICT gate,
    const struct EK_STRUCT *p);

#endif
