/* For each t, with the sums (z, s, n) of x[t] in units of 2^-12, and q = requantize(h):
 *   z, s = sigmoid(z + r q), sigmoid(s + r q)
 *   n = tanh(n + s (r q + b)), or tanh(n + r (s q)) where the reset comes before the weights
 *   h = (1 - z) n + z h, rounded once, y[t] = requantize(h); h starts from h0
 * Rule E: b, m and shift give r q; x_m and x_shift x, y_m and y_shift q, of 16 bits.
 * @split steps in order: x 3 * batch * size, y batch * size, h0 from h */
#ifndef EDGEKIT_GRU_INT_H
#define EDGEKIT_GRU_INT_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t steps; /* t */
    int32_t batch; /* independent sequences, side by side in x, h, y */
    int32_t size; /* elements of h */
    int32_t reverse; /* 1: from the last t to the first */
    int32_t reset_after; /* 1: after the weights, 0: before */
    int32_t shift;
    int32_t x_m;
    int32_t x_shift;
    int32_t y_m;
    int32_t y_shift;
    int32_t zero; /* zero point of y */
    int32_t bits; /* integer bits of h, 0 to 15 */
};

EK_KERNEL void EK_FN(const int16_t *EK_RESTRICT x, const int8_t *EK_RESTRICT r, const int16_t *h0,
    const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int16_t *EK_RESTRICT tanh,
    int8_t *EK_RESTRICT y, int16_t *EK_RESTRICT h, int16_t *EK_RESTRICT scratch, const struct EK_STRUCT *p);

#endif
