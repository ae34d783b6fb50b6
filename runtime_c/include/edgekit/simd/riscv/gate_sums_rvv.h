/* Sums of gates of floats, as many at a time as eight vector registers hold. */
#ifndef EDGEKIT_GATE_SUMS_RVV_H
#define EDGEKIT_GATE_SUMS_RVV_H

#include "edgekit/simd/riscv/f32m8_rvv.h"

/* y[o] = x[o] + sum over i of r[o][i] h[i] for the outputs of gate k. */
EK_INLINE void ek_gate_tiles_f32(const float *EK_RESTRICT x, const float *EK_RESTRICT r,
    const float *EK_RESTRICT h, float *EK_RESTRICT y, const int32_t k, const int32_t size)
{
    const struct ek_window_rvv s = {
        1, 1, size, 0, 0, 1, size, 0, 0, size, EK_F32_KIND, -EK_INF_f32, EK_INF_f32};
    ek_fm8_line(h, (const uint8_t *)(r + k * size * size), x, 0, y, 0, 0, 1, &s);
}

#endif
