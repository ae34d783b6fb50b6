/* What s32_neon.h lacks, and 64-bit processors have in one instruction, with NEON of ARMv7. */
#ifndef EDGEKIT_FIXED_NEON32_H
#define EDGEKIT_FIXED_NEON32_H

#include "edgekit/simd/neon/s32_neon.h"

/* The sums of the elements of each. */
static inline int32x4_t ek_across_neon(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d)
{
    const int32x2_t u = vadd_s32(vget_low_s32(a), vget_high_s32(a)),
                    v = vadd_s32(vget_low_s32(b), vget_high_s32(b));
    const int32x2_t w = vadd_s32(vget_low_s32(c), vget_high_s32(c)),
                    x = vadd_s32(vget_low_s32(d), vget_high_s32(d));
    return vcombine_s32(vpadd_s32(u, v), vpadd_s32(w, x));
}

/* Eight results as int8: zero is added, and they are clamped. What saturates on the way is outside anyway. */
static inline int8x8_t ek_finish8_neon(int32x4_t a, int32x4_t b, int32_t zero, int32_t lo, int32_t hi)
{
    int8x8_t y =
        vqmovn_s16(vqaddq_s16(vcombine_s16(vqmovn_s32(a), vqmovn_s32(b)), vdupq_n_s16((int16_t)zero)));
    if (lo > -128)
        y = vmax_s8(y, vdup_n_s8((int8_t)lo));
    if (hi < 127)
        y = vmin_s8(y, vdup_n_s8((int8_t)hi));
    return y;
}

/* The first n of four or eight bytes. */
static inline void ek_store8_neon(int8_t *y, int8x8_t v, int32_t n)
{
    if (n >= 8) {
        vst1_s8(y, v);
        return;
    }
    if (n & 4) {
        const int32_t word = vget_lane_s32(vreinterpret_s32_s8(v), 0);
        __builtin_memcpy(y, &word, 4);
        v = vext_s8(v, v, 4);
        y += 4;
    }
    if (n & 2) {
        const int16_t half = vget_lane_s16(vreinterpret_s16_s8(v), 0);
        __builtin_memcpy(y, &half, 2);
        v = vext_s8(v, v, 2);
        y += 2;
    }
    if (n & 1)
        y[0] = vget_lane_s8(v, 0);
}

/* The first n of eight results, of one byte or two: zero is added, and they are clamped. */
static inline void ek_store_numbers8_neon(
    void *y, int32x4_t a, int32x4_t b, int32_t n, int32_t zero, int32_t lo, int32_t hi, int32_t bytes)
{
    if (bytes == 1) {
        ek_store8_neon((int8_t *)y, ek_finish8_neon(a, b, zero, lo, hi), n);
        return;
    }
    const int32x4_t z = vdupq_n_s32(zero), least = vdupq_n_s32(lo), most = vdupq_n_s32(hi);
    const int16x4_t first = vmovn_s32(vminq_s32(vmaxq_s32(vqaddq_s32(a, z), least), most)),
                    second = vmovn_s32(vminq_s32(vmaxq_s32(vqaddq_s32(b, z), least), most));
    int16_t numbers[8];
    vst1q_s16(numbers, vcombine_s16(first, second));
    __builtin_memcpy(y, numbers, 2 * (uint32_t)(n < 8 ? n : 8));
}

#endif
