/* Products of queries and keys of int8, by SDOT. */
#ifndef EDGEKIT_ATTENTION_S8_DOTPROD_H
#define EDGEKIT_ATTENTION_S8_DOTPROD_H

#include "edgekit/simd/neon/attention_sums_neon.h"

/* Dot products of a query and four keys, of whole eights. */
EK_INLINE void ek_a8_dots(const int8_t *q, const int8_t *const *k, const int32_t size, int32_t *to)
{
    int32x4_t sum[4];
    int32_t i = 0;
    EK_UNROLLED_FOR(4, int32_t j = 0; j < 4; j++)
        sum[j] = vdupq_n_s32(0);
    for (; i + 16 <= size; i += 16) {
        const int8x16_t x = vld1q_s8(q + i);
        EK_UNROLLED_FOR(4, int32_t j = 0; j < 4; j++)
            sum[j] = vdotq_s32(sum[j], x, vld1q_s8(k[j] + i));
    }
    if (i < size) {
        const int8x8_t none = vdup_n_s8(0);
        const int8x16_t x = vcombine_s8(vld1_s8(q + i), none);
        EK_UNROLLED_FOR(4, int32_t j = 0; j < 4; j++)
            sum[j] = vdotq_s32(sum[j], x, vcombine_s8(vld1_s8(k[j] + i), none));
    }
    vst1q_s32(to, vpaddq_s32(vpaddq_s32(sum[0], sum[1]), vpaddq_s32(sum[2], sum[3])));
}

#endif
