/* For each t, with the sums v = x[t] + r h: h = requantize(f(v)), y[t] = h; h starts from h0. f is tanh of sums in
 * units of 2^-12, or relu of sums in units of h / 64. Rule E: b, m and shift give r h; x_m and x_shift x, y_m and y_shift
 * h, of 16 bits.
 * @split steps in order: x batch * size, y batch * size, h0 from h */
#ifndef EDGEKIT_RNN_INT_H
#define EDGEKIT_RNN_INT_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t steps; /* t */
    int32_t batch; /* independent sequences, side by side in x, h, y */
    int32_t size; /* elements of h */
    int32_t reverse; /* 1: from the last t to the first */
    int32_t shift;
    int32_t x_m;
    int32_t x_shift;
    int32_t y_m;
    int32_t y_shift;
    int32_t zero; /* zero point of h */
    int32_t relu; /* 1: f is relu, 0: tanh */
};

EK_KERNEL void EK_FN(const int16_t *EK_RESTRICT x, const int8_t *EK_RESTRICT r, const int8_t *h0,
    const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int16_t *EK_RESTRICT tanh,
    int8_t *EK_RESTRICT y, int8_t *EK_RESTRICT h, int16_t *EK_RESTRICT scratch, const struct EK_STRUCT *p);

#endif
