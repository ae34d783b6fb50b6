/* Sums of gates of floats, four at a time. */
#ifndef EDGEKIT_GATE_SUMS_NEON32_H
#define EDGEKIT_GATE_SUMS_NEON32_H

#include "edgekit/simd/neon/f32_neon32.h"

#include "edgekit/loops/gate_sums_f32.h"

EK_INLINE void ek_gate_tiles_f32(const float *EK_RESTRICT x, const float *EK_RESTRICT r,
    const float *EK_RESTRICT h, float *EK_RESTRICT y, const int32_t k, const int32_t size)
{
    ek_gate_sums_vf(x, r, h, y, k, size);
}

#endif
