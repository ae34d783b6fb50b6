/* For each t, with the gates i, f, n, o of sums in Q3.12, each product rescaled and saturated as it is added:
 *   sum = w x[t] + b, + r h + d, + peephole c; normalized: (sum - mean) / deviation norm + add
 *   c = logistic(f) c + logistic(i) tanh(n), or (1 - logistic(f)) tanh(n) without i
 *   h = logistic(o) tanh(c), projected: y[t] = h; h starts from h0, c from c0
 * A factor is m / 2^31 2^e. Zero points are in the biases b, d and q. */
#ifndef EDGEKIT_LSTM_S8_H
#define EDGEKIT_LSTM_S8_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t steps; /* t */
    int32_t batch; /* independent sequences, side by side in x, h, c, y */
    int32_t inputs; /* elements of x */
    int32_t size; /* elements of c, and of each gate */
    int32_t outputs;
    int32_t first; /* 1: there is no gate i, 0: there is one */
    int32_t peepholes; /* 1: peep holds the weights of c for i, f, o */
    int32_t normalizes; /* 1: sums are normalized by norm and add, of each gate */
    int32_t projects; /* 1: h is proj times what the gates give */
    int32_t cell_bits; /* integer bits of c, 0 to 6 */
    int32_t cell_lo; /* bounds of c */
    int32_t cell_hi;
    int32_t hidden_zero; /* zero point of what the gates give */
    int32_t zero; /* of h, if that is projected */
    int32_t lo; /* bounds of h, if that is projected */
    int32_t hi;
    int32_t x_m[4]; /* factors of the input's sums in i, f, n, o */
    int32_t x_e[4];
    int32_t h_m[4]; /* of the state's */
    int32_t h_e[4];
    int32_t c_m[3]; /* of the cells' in i, f, o */
    int32_t c_e[3];
    int32_t n_m[4]; /* of the normalized sums in i, f, n, o */
    int32_t n_e[4];
    int32_t guard[4]; /* the variance where there is none */
    int32_t hidden_m; /* of what the gates give, Q0.30 */
    int32_t hidden_e;
    int32_t p_m; /* of projected sums */
    int32_t p_e;
};

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b,
    const int8_t *EK_RESTRICT r, const int32_t *EK_RESTRICT d, const int16_t *EK_RESTRICT peep,
    const int16_t *EK_RESTRICT norm, const int32_t *EK_RESTRICT add, const int8_t *EK_RESTRICT proj,
    const int32_t *EK_RESTRICT q, const int8_t *EK_RESTRICT h0, const int16_t *EK_RESTRICT c0,
    int8_t *EK_RESTRICT y, int8_t *EK_RESTRICT h, int16_t *EK_RESTRICT c, int16_t *EK_RESTRICT gate,
    const struct EK_STRUCT *p);

#endif
