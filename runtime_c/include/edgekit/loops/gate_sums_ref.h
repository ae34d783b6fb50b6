/* Sums of gates of floats: y[o] = x[o] + sum over i of r[o][i] h[i] for the outputs of gate k, `size` of them, as many as h
 * has numbers. Sets of instructions have tiles of gates in their place, for other layouts of r. */
#ifndef EDGEKIT_GATE_SUMS_REF_H
#define EDGEKIT_GATE_SUMS_REF_H

#include "edgekit/types.h"

/* Sixteen outputs, or `width`, advance together, so that compilers vectorise. */
EK_INLINE void ek_block_sums_f32(const float *EK_RESTRICT x, const float *EK_RESTRICT r,
    const float *EK_RESTRICT h, float *EK_RESTRICT y, const int32_t width, const int32_t size)
{
    float sum[16];
    for (int32_t o = 0; o < width; o++)
        sum[o] = x[o];
    for (int32_t i = 0; i < size; i++) {
        EK_SIDE_BY_SIDE
        for (int32_t o = 0; o < width; o++)
            sum[o] += h[i] * r[i * width + o];
    }
    for (int32_t o = 0; o < width; o++)
        y[o] = sum[o];
}

EK_INLINE void ek_gate_sums_f32(const float *EK_RESTRICT x, const float *EK_RESTRICT r,
    const float *EK_RESTRICT h, float *EK_RESTRICT y, const int32_t k, const int32_t size)
{
    int32_t o = 0;
    r += k * size * size;
    for (; o + 16 <= size; o += 16)
        ek_block_sums_f32(x + o, r + o * size, h, y + o, 16, size);
    if (o < size)
        ek_block_sums_f32(x + o, r + o * size, h, y + o, size - o, size);
}

EK_INLINE void ek_gate_sums_f64(const double *EK_RESTRICT x, const double *EK_RESTRICT r,
    const double *EK_RESTRICT h, double *EK_RESTRICT y, const int32_t k, const int32_t size)
{
    r += k * size * size;
    for (int32_t o = 0; o < size; o++) {
        const int32_t first = o / 16 * 16, width = size - first < 16 ? size - first : 16;
        double sum = x[o];
        for (int32_t i = 0; i < size; i++)
            sum += h[i] * r[first * size + i * width + o - first];
        y[o] = sum;
    }
}

#endif
