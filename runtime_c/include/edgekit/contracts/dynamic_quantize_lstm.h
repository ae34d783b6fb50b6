/* For each t, with q = quantized(h) over the range of all h and 0, and for gate g
 *   (i, o, f, n)[g] = x[t][g] + h_scale scale[g] sum over j of (q[j] - h_zero) (r[g][j] - zero[g]), sums[g] = sum of r[g][j]
 *   c = sigmoid(f) c + sigmoid(i) tanh(n)
 *   h = sigmoid(o) tanh(c), y[t] = h; h starts from h0, c from c0 */
#ifndef EDGEKIT_DYNAMIC_QUANTIZE_LSTM_H
#define EDGEKIT_DYNAMIC_QUANTIZE_LSTM_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t steps;   /* t */
    int32_t batch;   /* independent sequences, side by side in x, h, c, y */
    int32_t size;    /* elements of h and c */
    int32_t reverse; /* 1: from the last t to the first */
};

/* scratch: 4 size floats and batch size int16_t. */
EK_KERNEL void EK_FN(const float *EK_RESTRICT x, const int8_t *EK_RESTRICT r, const int32_t *EK_RESTRICT sums,
    const float *EK_RESTRICT scale, const int32_t *EK_RESTRICT zero, const float *EK_RESTRICT h0,
    const float *EK_RESTRICT c0, float *EK_RESTRICT y, float *EK_RESTRICT h, float *EK_RESTRICT c,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p);

#endif
