/* What layers of long short-term memory with dynamic quantization do beside their sums. */
#ifndef EDGEKIT_DYNAMIC_LSTM_H
#define EDGEKIT_DYNAMIC_LSTM_H

#include "edgekit/loops/dynamic_range.h"

/* One step of one sequence: h and c become what they are after the gates. */
EK_INLINE void ek_dynamic_lstm_step(
    const float *EK_RESTRICT gate, float *EK_RESTRICT h, float *EK_RESTRICT c, const int32_t size)
{
    for (int32_t i = 0; i < size; i++) {
        const float in = ek_sigmoid_f32(gate[i]), keep = ek_sigmoid_f32(gate[2 * size + i]);
        c[i] = keep * c[i] + in * ek_tanh_f32(gate[3 * size + i]);
    }
    for (int32_t i = 0; i < size; i++)
        h[i] = ek_sigmoid_f32(gate[size + i]) * ek_tanh_f32(c[i]);
}

/* h and c of the step before the first one. */
EK_INLINE void ek_dynamic_lstm_start(const float *EK_RESTRICT h0, const float *EK_RESTRICT c0,
    float *EK_RESTRICT h, float *EK_RESTRICT c, const int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        h[i] = h0[i];
        c[i] = c0[i];
    }
}

#endif
