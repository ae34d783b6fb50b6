/* What s32_neon.h lacks that only 64-bit processors have. */
#ifndef EDGEKIT_FIXED_NEON_H
#define EDGEKIT_FIXED_NEON_H

#include "edgekit/simd/neon/s32_neon.h"

/* Loads stay behind this: compilers would do so many of them early that registers do not suffice. */
#define EK_KEEP_ORDER __asm__ volatile("" ::: "memory");

/* One to three bytes, as the lowest of a vector; zeros behind them. */
static inline int8x8_t ek_load_tail_neon(const int8_t *x, int32_t n)
{
    uint32_t word = (uint8_t)x[0];
    if (n > 1)
        word |= (uint32_t)(uint8_t)x[1] << 8;
    if (n > 2)
        word |= (uint32_t)(uint8_t)x[2] << 16;
    return vreinterpret_s8_u32(vdup_n_u32(word));
}

/* The sums of the elements of each. */
static inline int32x4_t ek_across_neon(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d)
{
    return vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d));
}

/* The first n of sixteen results, of one byte or two: zero is added, and they are clamped. */
static inline void ek_store_numbers_neon(
    void *y, const int32x4_t *v, int32_t n, int32_t zero, int32_t lo, int32_t hi, int32_t bytes)
{
    if (bytes == 1) {
        ek_store_neon((int8_t *)y, ek_finish_neon(v[0], v[1], v[2], v[3], zero, lo, hi), n);
        return;
    }
    int16_t *to = (int16_t *)y;
    for (int32_t k = 0; n > 0; k++, n -= 4, to += 4) {
        const int32x4_t wide = vqaddq_s32(v[k], vdupq_n_s32(zero));
        const int16x4_t z = vmovn_s32(vminq_s32(vmaxq_s32(wide, vdupq_n_s32(lo)), vdupq_n_s32(hi)));
        if (n >= 4)
            vst1_s16(to, z);
        else {
            to[0] = vget_lane_s16(z, 0);
            if (n > 1)
                to[1] = vget_lane_s16(z, 1);
            if (n > 2)
                to[2] = vget_lane_s16(z, 2);
        }
    }
}

/* x / scale of four reals as the nearest integers, halves to the even one or away from zero; of what is no number: `other`. */
EK_INLINE ek_vi ek_even_vi(const float *x, const float scale, const float other)
{
    const float32x4_t v = vdivq_f32(vld1q_f32(x), vdupq_n_f32(scale));
    return vcvtnq_s32_f32(vbslq_f32(vceqq_f32(v, v), v, vdupq_n_f32(other)));
}
EK_INLINE ek_vi ek_away_vi(const float *x, const float scale, const float other)
{
    const float32x4_t v = vdivq_f32(vld1q_f32(x), vdupq_n_f32(scale));
    return vcvtaq_s32_f32(vbslq_f32(vceqq_f32(v, v), v, vdupq_n_f32(other)));
}

#endif
