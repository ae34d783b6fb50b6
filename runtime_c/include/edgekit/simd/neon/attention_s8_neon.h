/* Products of queries and keys of int8, by NEON of 64-bit ARM. */
#ifndef EDGEKIT_ATTENTION_S8_NEON_H
#define EDGEKIT_ATTENTION_S8_NEON_H

#include "edgekit/simd/neon/attention_sums_neon.h"

/* a + sums of neighbouring products of eight bytes */
EK_INLINE int32x4_t ek_a8_eight(const int32x4_t a, const int8_t *x, const int8_t *y)
{
    return vpadalq_s16(a, vmull_s8(vld1_s8(x), vld1_s8(y)));
}

/* Dot products of a query and four keys, of whole eights. */
EK_INLINE void ek_a8_dots(const int8_t *q, const int8_t *const *k, const int32_t size, int32_t *to)
{
    int32x4_t sum[4];
    EK_UNROLLED_FOR(4, int32_t j = 0; j < 4; j++)
        sum[j] = vdupq_n_s32(0);
    for (int32_t i = 0; i < size; i += 8)
        EK_UNROLLED_FOR(4, int32_t j = 0; j < 4; j++)
            sum[j] = ek_a8_eight(sum[j], q + i, k[j] + i);
    vst1q_s32(to, vpaddq_s32(vpaddq_s32(sum[0], sum[1]), vpaddq_s32(sum[2], sum[3])));
}

#endif
