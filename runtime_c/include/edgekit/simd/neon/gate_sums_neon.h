/* Sums of gates of floats with NEON, four at a time: see gate_sums_ref.h. */
#ifndef EDGEKIT_GATE_SUMS_NEON_H
#define EDGEKIT_GATE_SUMS_NEON_H

#include "edgekit/simd/neon/f32_neon.h"

/* What a number of the state, lane of v, adds to `blocks` vectors of sums. */
#define EK_GATE_TAP(sum, v, lane)                                                                            \
    for (int32_t b = 0; b < blocks; b++)                                                                     \
        sum[b] = vfmaq_laneq_f32(sum[b], vld1q_f32(r + 4 * (blocks * (lane) + b)), v, lane);

/* `count` outputs in `blocks` vectors. Two sums for each, as additions wait for each other. */
EK_INLINE void ek_gate_block_neon(const float *EK_RESTRICT x, const float *EK_RESTRICT r,
    const float *EK_RESTRICT h, float *EK_RESTRICT y, const int32_t blocks, const int32_t count,
    const int32_t size)
{
    float32x4_t sum[4], more[4];
    int32_t i = 0;
    for (int32_t b = 0; b < blocks; b++) {
        sum[b] = ek_vf_load(x + 4 * b, count - 4 * b);
        more[b] = vdupq_n_f32(0.0f);
    }
    for (; i + 4 <= size; i += 4, r += 16 * blocks) {
        const float32x4_t v = vld1q_f32(h + i);
        EK_GATE_TAP(sum, v, 0)
        EK_GATE_TAP(more, v, 1)
        EK_GATE_TAP(sum, v, 2)
        EK_GATE_TAP(more, v, 3)
    }
    for (; i < size; i++, r += 4 * blocks) {
        const float32x4_t v = vdupq_n_f32(h[i]);
        EK_GATE_TAP(sum, v, 0)
    }
    for (int32_t b = 0; b < blocks; b++)
        ek_vf_store(y + 4 * b, count - 4 * b, vaddq_f32(sum[b], more[b]));
}

EK_INLINE void ek_gate_sums_f32(const float *EK_RESTRICT x, const float *EK_RESTRICT r,
    const float *EK_RESTRICT h, float *EK_RESTRICT y, const int32_t k, const int32_t size)
{
    const int32_t whole = size / 16 * 16, left = size - whole;
    r += k * ((size + 3) / 4 * 4) * size;
    for (int32_t o = 0; o < whole; o += 16)
        ek_gate_block_neon(x + o, r + o * size, h, y + o, 4, 16, size);
    x += whole;
    y += whole;
    r += whole * size;
    if (left > 12)
        ek_gate_block_neon(x, r, h, y, 4, left, size);
    else if (left > 8)
        ek_gate_block_neon(x, r, h, y, 3, left, size);
    else if (left > 4)
        ek_gate_block_neon(x, r, h, y, 2, left, size);
    else if (left > 0)
        ek_gate_block_neon(x, r, h, y, 1, left, size);
}

#endif
