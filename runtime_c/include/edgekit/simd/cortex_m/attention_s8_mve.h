/* Attention to rows of int8 with Helium: what attention_s8.h says, four keys at a time. */
#ifndef EDGEKIT_ATTENTION_S8_MVE_H
#define EDGEKIT_ATTENTION_S8_MVE_H

#include "edgekit/loops/attention_s8.h"
#include "edgekit/simd/cortex_m/mve.h"

/* Dot products of a query and m keys. */
EK_INLINE void ek_mve_dots_s8(const int8_t *q, const int8_t *EK_RESTRICT k, int32_t *EK_RESTRICT to,
    const int32_t m, const int32_t size)
{
    if (size <= 16) { /* a query is one vector */
        const mve_pred16_t some = vctp8q((uint32_t)size);
        const int8x16_t own = vldrbq_z_s8(q, some);
        for (int32_t j = 0; j < m; j++, k += size)
            to[j] = vmladavq_s8(own, vldrbq_z_s8(k, some));
        return;
    }
    for (int32_t j = 0; j < m; j++, k += size) {
        int32_t sum = 0;
        for (int32_t i = 0; i < size; i += 16) {
            const mve_pred16_t some = vctp8q((uint32_t)(size - i));
            sum = vmladavaq_s8(sum, vldrbq_z_s8(q + i, some), vldrbq_z_s8(k + i, some));
        }
        to[j] = sum;
    }
}

/* From m dot products to their weights. */
EK_INLINE void ek_mve_attention_weights(struct ek_attention_s8 *EK_RESTRICT a,
    const float *EK_RESTRICT k_scale, const float *EK_RESTRICT v_scale, const float factor, const int32_t m)
{
    uint32x4_t ups = vdupq_n_u32(0);
    int32x4_t tops = vdupq_n_s32(INT32_MIN);
    int32_t sum = 0;
    for (int32_t j = 0; j < m; j += 4) {
        const mve_pred16_t some = vctp32q((uint32_t)(m - j));
        const float32x4_t scale = vldrwq_z_f32(k_scale + j, some);
        float32x4_t x = vmulq_f32(vcvtq_f32_s32(vldrwq_z_s32(a->scores + j, some)), scale);
        x = vmulq_n_f32(x, factor);
        int32x4_t score = vcvtq_s32_f32(x); /* the nearest end beyond the range, 0 for NaN */
        score = vmaxq_s32(vminq_s32(score, vdupq_n_s32(536870911)), vdupq_n_s32(-536870912));
        const uint32x4_t part = vandq_u32(vreinterpretq_u32_s32(score), vdupq_n_u32(0x7FFF));
        uint32x4_t power = vaddq_n_u32(vshrq_n_u32(vmulq_n_u32(part, 20352), 16), 29426);
        power = vaddq_n_u32(vshrq_n_u32(vmulq_u32(power, part), 16), 45224);
        power = vaddq_n_u32(vshrq_n_u32(vmulq_u32(power, part), 16), 32512);
        score = vreinterpretq_s32_u32(vsliq_n_u32(power, vreinterpretq_u32_s32(vshrq_n_s32(score, 15)), 16));
        vstrwq_p_s32(a->scores + j, score, some);
        tops = vmaxq_m_s32(tops, tops, score, some);
        const uint32x4_t bits = vreinterpretq_u32_f32(vldrwq_z_f32(v_scale + j, some));
        ups = vmaxq_u32(ups, vandq_u32(vshrq_n_u32(bits, 23), vdupq_n_u32(255)));
    }
    const int32_t top = vmaxvq_s32(INT32_MIN, tops) >> 16;
    const uint32_t up = vmaxvq_u32(0, ups);
    for (int32_t j = 0; j < m; j += 4) {
        const mve_pred16_t some = vctp32q((uint32_t)(m - j));
        const int32x4_t power = vldrwq_z_s32(a->scores + j, some);
        const int32x4_t down = vsubq_n_s32(vshrq_n_s32(power, 16), top + 1); /* below 0 */
        const uint32x4_t digits = vandq_u32(vreinterpretq_u32_s32(power), vdupq_n_u32(0xFFFF));
        const int32x4_t weight = vreinterpretq_s32_u32(vrshlq_u32(digits, vmaxq_s32(down, vdupq_n_s32(-32))));
        sum = vaddvaq_p_s32(sum, weight, some);
        const uint32x4_t bits = vreinterpretq_u32_f32(vldrwq_z_f32(v_scale + j, some));
        const uint32x4_t exponent = vandq_u32(vshrq_n_u32(bits, 23), vdupq_n_u32(255));
        const uint32x4_t number = vorrq_u32(vandq_u32(bits, vdupq_n_u32(0x7FFFFF)), vdupq_n_u32(0x800000));
        const int32x4_t drop = vsubq_n_s32(vreinterpretq_s32_u32(exponent), (int32_t)(9 + up));
        const uint32x4_t ratio = vshlq_u32(number, vmaxq_s32(drop, vdupq_n_s32(-31)));
        const int32x4_t both = vmulq_s32(weight, vreinterpretq_s32_u32(ratio));
        vstrhq_p_s32(a->weights + j, vrshrq_n_s32(both, 15), some);
    }
    ek_attention_join(a, top, up, sum);
}

/* y = shrink y + grow (sums over m keys of weights times values), for some vectors of columns. */
EK_INLINED void ek_mve_attention_sums(const struct ek_attention_s8 *a, const int8_t *EK_RESTRICT v,
    const int32_t m, float *EK_RESTRICT y, const int32_t vectors, const int32_t step)
{
    int32x4_t sum[4];
    EK_UNROLLED_FOR(4, int32_t i = 0; i < vectors; i++)
        sum[i] = vdupq_n_s32(0);
    for (int32_t j = 0; j < m; j++, v += step) {
        const int32_t weight = a->weights[j];
        EK_UNROLLED_FOR(4, int32_t i = 0; i < vectors; i++)
            sum[i] = vmlaq_n_s32(sum[i], vldrbq_s32(v + 4 * i), weight);
    }
    EK_UNROLLED_FOR(4, int32_t i = 0; i < vectors; i++) {
        const float32x4_t before = vmulq_n_f32(vldrwq_f32(y + 4 * i), a->shrink);
        vstrwq_f32(y + 4 * i, vaddq_f32(before, vmulq_n_f32(vcvtq_f32_s32(sum[i]), a->grow)));
    }
}

#endif
