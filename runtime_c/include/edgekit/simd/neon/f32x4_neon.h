/* Floats, four at a time, with NEON of either width. */
#ifndef EDGEKIT_F32X4_NEON_H
#define EDGEKIT_F32X4_NEON_H

#include "edgekit/loops/weight_kinds.h"

#include <arm_neon.h>

/* Four weights as floats. */
static inline float32x4_t ek_bf16_load4(const uint16_t *w)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(w), 16));
}

/* Four integers as floats, from anywhere. */
static inline float32x4_t ek_s8_load4(const int8_t *w)
{
    int32_t word;
    __builtin_memcpy(&word, w, 4);
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(word))))));
}

/* The n weights that a kernel computes with, as they are: if they are no floats, they are widened where they are loaded. */
static inline const void *ek_f32_once_vf(const void *w, int32_t n, float **room)
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

static inline const float *ek_bf16_once_vf(const uint16_t *w, int32_t n, float **room)
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

/* Four halves as floats: in integers on 32 bits, where some compilers have no type for halves. */
static inline float32x4_t ek_f16_load4(const uint16_t *w)
{
    const uint16x4_t h = vld1_u16(w);
#if defined(__aarch64__)
    return vcvt_f32_f16(vreinterpret_f16_u16(h));
#else
    const uint32x4_t bias = vdupq_n_u32(112u << 23);
    const uint32x4_t magnitude = vshll_n_u16(vand_u16(h, vdup_n_u16(0x7FFF)), 13);
    const uint32x4_t twice = vandq_u32(vcgeq_u32(magnitude, vdupq_n_u32(0x0F800000u)), bias);
    const uint32x4_t normal = vaddq_u32(vaddq_u32(magnitude, bias), twice);
    const uint32x4_t behind = vaddq_u32(magnitude, vdupq_n_u32(113u << 23));
    const float32x4_t fraction = vsubq_f32(vreinterpretq_f32_u32(behind), vdupq_n_f32(6.10351562e-05f));
    const uint32x4_t is_subnormal = vcltq_u32(magnitude, vdupq_n_u32(0x00800000u));
    const uint32x4_t sign = vshll_n_u16(vand_u16(h, vdup_n_u16(0x8000)), 16);
    const uint32x4_t size = vbslq_u32(is_subnormal, vreinterpretq_u32_f32(fraction), normal);
    return vreinterpretq_f32_u32(vorrq_u32(size, sign));
#endif
}

/* The same of halves. */
static inline const float *ek_f16_once_vf(const uint16_t *w, int32_t n, float **room)
{
    const float *weights = *room;
    float *to = *room;
    *room += (n + 3) / 4 * 4;
    for (; n >= 16; n -= 16, w += 16, to += 16) {
        const float32x4_t a = ek_f16_load4(w), b = ek_f16_load4(w + 4);
        const float32x4_t c = ek_f16_load4(w + 8), d = ek_f16_load4(w + 12);
        vst1q_f32(to, a);
        vst1q_f32(to + 4, b);
        vst1q_f32(to + 8, c);
        vst1q_f32(to + 12, d);
    }
    for (; n > 0; n -= 4, w += 4, to += 4) {
        const int32_t back = n < 4 ? 4 - n : 0;
        vst1q_f32(to - back, ek_f16_load4(w - back));
    }
    return weights;
}

/* The same of whole vectors of int8. */
static inline const float *ek_s8_once_vf(const int8_t *w, int32_t n, float **room)
{
    const float *weights = *room;
    float *to = *room;
    *room += n;
    for (; n >= 16; n -= 16, w += 16, to += 16) {
        const int8x16_t all = vld1q_s8(w);
        const int16x8_t low = vmovl_s8(vget_low_s8(all)), high = vmovl_s8(vget_high_s8(all));
        vst1q_f32(to, vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))));
        vst1q_f32(to + 4, vcvtq_f32_s32(vmovl_s16(vget_high_s16(low))));
        vst1q_f32(to + 8, vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))));
        vst1q_f32(to + 12, vcvtq_f32_s32(vmovl_s16(vget_high_s16(high))));
    }
    for (; n > 0; n -= 4, w += 4, to += 4)
        vst1q_f32(to, ek_s8_load4(w));
    return weights;
}

/* n floats, which do not overlap. */
static inline void ek_copy_floats_vf(float *y, const float *x, int32_t n)
{
    int32_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1q_f32(y + i, vld1q_f32(x + i));
    for (; i < n; i++)
        y[i] = x[i];
}

static inline void ek_zero_floats_vf(float *y, int32_t n)
{
    int32_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1q_f32(y + i, vdupq_n_f32(0.0f));
    for (; i < n; i++)
        y[i] = 0.0f;
}

typedef float32x4_t ek_vf;

EK_INLINE ek_vf ek_vf_set(const float x)
{
    return vdupq_n_f32(x);
}

EK_INLINE ek_vf ek_vf_add(const ek_vf a, const ek_vf b)
{
    return vaddq_f32(a, b);
}

EK_INLINE ek_vf ek_vf_mul(const ek_vf a, const ek_vf b)
{
    return vmulq_f32(a, b);
}

/* a * b + c, rounded once */
EK_INLINE ek_vf ek_vf_fma(const ek_vf a, const ek_vf b, const ek_vf c)
{
    return vfmaq_f32(c, a, b);
}

EK_INLINE ek_vf ek_vf_clamp(const ek_vf x, const float lo, const float hi)
{
    const ek_vf y = EK_IS_COMPACT || lo > -EK_INF_f32 ? vmaxq_f32(x, vdupq_n_f32(lo)) : x;
    return EK_IS_COMPACT || hi < EK_INF_f32 ? vminq_f32(y, vdupq_n_f32(hi)) : y;
}

/* Four numbers, and those from number `at` on of a row. */
EK_INLINE ek_vf ek_vf_four(const float *x)
{
    return vld1q_f32(x);
}
EK_INLINE ek_vf ek_vf_fours(const float *const *row, const int32_t at)
{
    return vld1q_f32(row[0] + at);
}

/* The first `count` of four numbers, at least one and maybe more than four, then zeros. */
EK_INLINE ek_vf ek_vf_load(const float *x, const int32_t count)
{
    if (count >= 4)
        return vld1q_f32(x);
    ek_vf y = vsetq_lane_f32(x[0], vdupq_n_f32(0.0f), 0);
    if (count > 1)
        y = vsetq_lane_f32(x[1], y, 1);
    if (count > 2)
        y = vsetq_lane_f32(x[2], y, 2);
    return y;
}

EK_INLINE void ek_vf_store(float *y, const int32_t count, const ek_vf v)
{
    if (count >= 4)
        vst1q_f32(y, v);
    else {
        y[0] = vgetq_lane_f32(v, 0);
        if (count > 1)
            y[1] = vgetq_lane_f32(v, 1);
        if (count > 2)
            y[2] = vgetq_lane_f32(v, 2);
    }
}

/* Four weights from number `at` on, of this kind. */
EK_INLINE ek_vf ek_vf_weights(const void *w, const int32_t at, const int32_t kind)
{
    if (kind == EK_F16_KIND)
        return ek_f16_load4((const uint16_t *)w + at);
    return kind == EK_BF16_KIND ? ek_bf16_load4((const uint16_t *)w + at)
           : kind == EK_S8_KIND ? ek_s8_load4((const int8_t *)w + at)
                                : vld1q_f32((const float *)w + at);
}

/* Of two vectors, from number `at` on, side by side. */
EK_INLINE ek_vf ek_vf_weights_of_two(
    const void *w, const int32_t at, const int32_t step, const int32_t is_second, const int32_t kind)
{
    if (kind == EK_F16_KIND)
        return ek_f16_load4((const uint16_t *)w + at + is_second * step);
    if (kind == EK_BF16_KIND) {
        const uint16x8_t v = vld1q_u16((const uint16_t *)w + at);
        return vreinterpretq_f32_u32(vshll_n_u16(is_second ? vget_high_u16(v) : vget_low_u16(v), 16));
    }
    if (kind == EK_S8_KIND) {
        const int16x8_t v = vmovl_s8(vld1_s8((const int8_t *)w + at));
        return vcvtq_f32_s32(vmovl_s16(is_second ? vget_high_s16(v) : vget_low_s16(v)));
    }
    return vld1q_f32((const float *)w + at + is_second * step);
}

/* Processors fetch ahead by themselves. */
EK_INLINE void ek_vf_fetch(const uint8_t *p)
{
    (void)p;
}

#endif
