/* Sums of gates of floats with a scalar FPU, four at a time. */
#ifndef EDGEKIT_GATE_SUMS_VFP_H
#define EDGEKIT_GATE_SUMS_VFP_H

#include "edgekit/simd/cortex_m/gemm_f32_vfp.h"

EK_INLINE void ek_gate_tiles_f32(const float *EK_RESTRICT x, const float *EK_RESTRICT r,
    const float *EK_RESTRICT h, float *EK_RESTRICT y, const int32_t k, const int32_t size)
{
    const int32_t rest = size % 4;
    r += k * size * size;
    for (int32_t o = 0; o < size - rest; o += 4, r += 4 * size) {
        struct ek_pixels_vfp s = {1, 1, size, 0, 0, 0, 0, 0, 1, 0, 0, 0, x + o, {0, 0, 0}};
        ek_f32_dots_vfp(h, r, y + o, &s);
    }
    for (int32_t o = 0; o < rest; o++) {
        float sum = x[size - rest + o];
        for (int32_t i = 0; i < size; i++)
            sum += h[i] * r[i * rest + o];
        y[size - rest + o] = sum;
    }
}

#endif
