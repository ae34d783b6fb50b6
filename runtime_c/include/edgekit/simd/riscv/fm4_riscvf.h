/* One float under the names that vectors of four registers have, for RISC-V without vectors. */
#ifndef EDGEKIT_FM4_RISCVF_H
#define EDGEKIT_FM4_RISCVF_H

#include <stddef.h>

#include "edgekit/loops/each_pixel.h"
#include "edgekit/simd/riscv/f32_riscvf.h"

/* The most pixels of depthwise layers. */
#define EK_FM4_CHANNEL_PIXELS 8

typedef float ek_fm4_floats;

EK_INLINE size_t ek_fm4_count(const int32_t n)
{
    (void)n;
    return 1;
}

EK_INLINE ek_fm4_floats ek_fm4_load(const float *x, const size_t vl)
{
    (void)vl;
    return *x;
}

EK_INLINE ek_fm4_floats ek_fm4_weights(const uint8_t *w, const int32_t kind, const size_t vl)
{
    (void)vl;
    return ek_vf_weights(w, 0, kind);
}

/* Headers are found by the names that they spell out: these two are not spelled out for vectors. */
#define EK_GROUP(name) ek_fm4_##name

/* a * b + sum */
EK_INLINE ek_fm4_floats EK_GROUP(fma)(
    const ek_fm4_floats sum, const ek_fm4_floats a, const ek_fm4_floats b, const size_t vl)
{
    (void)vl;
    return __builtin_fmaf(a, b, sum);
}

/* The result of a pixel; where r is not null it is a scale. */
EK_INLINE void EK_GROUP(finish)(float *y, const ek_fm4_floats sum, const float *r, const int32_t kind,
    const float lo, const float hi, const size_t vl)
{
    (void)kind;
    (void)vl;
    *y = ek_vf_clamp(r ? sum * *r : sum, lo, hi);
}

#undef EK_GROUP

#endif
