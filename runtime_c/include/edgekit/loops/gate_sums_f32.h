/* Sums of gates of floats in the vectors of the set whose header comes before this file. */
#ifndef EDGEKIT_GATE_SUMS_F32_H
#define EDGEKIT_GATE_SUMS_F32_H

#include "edgekit/loops/pixel_rows_f32.h"

/* y[o] = x[o] + sum over i of r[o][i] h[i] for the outputs of gate k. */
EK_INLINE void ek_gate_sums_vf(const float *EK_RESTRICT x, const float *EK_RESTRICT r,
    const float *EK_RESTRICT h, float *EK_RESTRICT y, const int32_t k, const int32_t size)
{
    const int32_t lanes = EK_VF_LANES, padded = (size + lanes - 1) / lanes * lanes;
    for (int32_t o = 0; o < size; o += EK_VF_PART) {
        const int32_t outputs = size - o < EK_VF_PART ? size - o : EK_VF_PART;
        const int32_t width = (outputs + lanes - 1) / lanes * lanes;
        const struct ek_window_f32 s = {
            1, 1, size, 0, 0, 1, 0, width, lanes, 0, outputs, EK_F32_KIND, -EK_INF_f32, EK_INF_f32};
        ek_line_f32(h, (const uint8_t *)(r + (k * padded + o) * size), x + o, 0, y + o, 0, 0, 1, &s);
    }
}

#endif
