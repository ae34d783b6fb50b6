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

/* The n weights that a kernel computes with. f32: as they are. */
typedef float ek_f32_fma_weight;
static inline const float *ek_f32_once_neon(const float *w, int32_t n, float **room)
{
    (void)n;
    (void)room;
    return w;
}

/* bf16, as they are: they are widened each time that they are loaded. */
typedef uint16_t ek_bf16_fma_weight;
static inline const uint16_t *ek_bf16_each_neon(const uint16_t *w, int32_t n, float **room)
{
    (void)n;
    (void)room;
    return w;
}

/* bf16, at least four, widened into what room there is. */
static inline void ek_bf16_widen8_neon(uint16x8_t w, float *to)
{
    vst1q_f32(to, vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(w), 16)));
    vst1q_f32(to + 4, vreinterpretq_f32_u32(vshll_n_u16(vget_high_u16(w), 16)));
}

static inline const float *ek_bf16_once_neon(const uint16_t *w, int32_t n, float **room)
{
    const float *weights = *room;
    float *to = *room;
    *room += (n + 3) / 4 * 4;
    for (; n >= 32; n -= 32, w += 32, to += 32) {
        const uint16x8_t a = vld1q_u16(w), b = vld1q_u16(w + 8), c = vld1q_u16(w + 16), d = vld1q_u16(w + 24);
        ek_bf16_widen8_neon(a, to);
        ek_bf16_widen8_neon(b, to + 8);
        ek_bf16_widen8_neon(c, to + 16);
        ek_bf16_widen8_neon(d, to + 24);
    }
    for (; n > 0; n -= 4, w += 4, to += 4) {
        const int32_t back = n < 4 ? 4 - n : 0; /* the last four may be widened twice in part */
        vst1q_f32(to - back, ek_bf16_load4(w - back));
    }
    return weights;
}

/* The first n of four floats, n > 0. */
static inline void ek_f32_store_neon(float *y, float32x4_t v, int32_t n)
{
    if (n >= 4)
        vst1q_f32(y, v);
    else {
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
    if (n > 4)
        ek_f32_store_neon(y + 4, b, n - 4);
    if (n > 8)
        ek_f32_store_neon(y + 8, c, n - 8);
    if (n > 12)
        ek_f32_store_neon(y + 12, d, n - 12);
}

/* The first n of four floats, n > 0, zeros behind them. */
static inline float32x4_t ek_f32_some_neon(const float *x, int32_t n)
{
    if (n >= 4)
        return vld1q_f32(x);
    float32x4_t y = vsetq_lane_f32(x[0], vdupq_n_f32(0.0f), 0);
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
