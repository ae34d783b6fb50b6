/* Floats, four at a time, with NEON of either width. */
#ifndef EDGEKIT_F32_NEON_H
#define EDGEKIT_F32_NEON_H

#include "edgekit/types.h"

#include <arm_neon.h>

/* Four weights as floats. */
static inline float32x4_t ek_f32_load4(const float *w)
{
    return vld1q_f32(w);
}

static inline float32x4_t ek_bf16_load4(const uint16_t *w)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(w), 16));
}

/* The same for kernels that exist for both. */
static inline float32x4_t ek_f32_weights_x4(const float *w)
{
    return ek_f32_load4(w);
}

static inline float32x4_t ek_bf16_weights_x4(const uint16_t *w)
{
    return ek_bf16_load4(w);
}

/* The first n of four floats. */
static inline void ek_f32_store_neon(float *y, float32x4_t v, int32_t n)
{
    if (n >= 4)
        vst1q_f32(y, v);
    else {
        if (n > 0)
            y[0] = vgetq_lane_f32(v, 0);
        if (n > 1)
            y[1] = vgetq_lane_f32(v, 1);
        if (n > 2)
            y[2] = vgetq_lane_f32(v, 2);
    }
}

/* The first n of sixteen floats. */
static inline void ek_f32_stores_neon(
    float *y, float32x4_t a, float32x4_t b, float32x4_t c, float32x4_t d, int32_t n)
{
    ek_f32_store_neon(y, a, n);
    ek_f32_store_neon(y + 4, b, n - 4);
    ek_f32_store_neon(y + 8, c, n - 8);
    ek_f32_store_neon(y + 12, d, n - 12);
}

/* The first n of four floats, zeros behind them. */
static inline float32x4_t ek_f32_some_neon(const float *x, int32_t n)
{
    if (n >= 4)
        return vld1q_f32(x);
    float32x4_t y = vdupq_n_f32(0.0f);
    if (n > 0)
        y = vsetq_lane_f32(x[0], y, 0);
    if (n > 1)
        y = vsetq_lane_f32(x[1], y, 1);
    if (n > 2)
        y = vsetq_lane_f32(x[2], y, 2);
    return y;
}

static inline float32x4_t ek_f32_single_neon(const float *x)
{
    return vsetq_lane_f32(x[0], vdupq_n_f32(0.0f), 0);
}

/* n floats, which do not overlap. */
static inline void ek_f32_copy_neon(float *y, const float *x, int32_t n)
{
    int32_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1q_f32(y + i, vld1q_f32(x + i));
    for (; i < n; i++)
        y[i] = x[i];
}

static inline void ek_f32_zero_neon(float *y, int32_t n)
{
    int32_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1q_f32(y + i, vdupq_n_f32(0.0f));
    for (; i < n; i++)
        y[i] = 0.0f;
}

static inline float32x4_t ek_f32_clamp_neon(float32x4_t v, float lo, float hi)
{
    if (lo > -EK_INF_f32)
        v = vmaxq_f32(v, vdupq_n_f32(lo));
    if (hi < EK_INF_f32)
        v = vminq_f32(v, vdupq_n_f32(hi));
    return v;
}

#endif
