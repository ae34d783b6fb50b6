/* Weights times values of int8, by NEON of 64-bit ARM. */
#ifndef EDGEKIT_ATTENTION_SUMS_NEON_H
#define EDGEKIT_ATTENTION_SUMS_NEON_H

#include <arm_neon.h>

#include "edgekit/types.h"

#define EK_A8_EIGHTS 4 /* of columns, at a time */

/* Sums over m keys of weights times values, of some eights of columns. */
EK_INLINED void ek_a8_sums(
    const int16_t *w, const int8_t *v, const int32_t m, const int32_t step, const int32_t eights, int32_t *to)
{
    int32x4_t sum[2 * EK_A8_EIGHTS];
    EK_UNROLLED_FOR(8, int32_t c = 0; c < 2 * eights; c++)
        sum[c] = vdupq_n_s32(0);
    for (int32_t j = 0; j < m; j++, v += step)
        EK_UNROLLED_FOR(4, int32_t c = 0; c < eights; c++) {
            const int16x8_t values = vmovl_s8(vld1_s8(v + 8 * c));
            sum[2 * c] = vmlal_n_s16(sum[2 * c], vget_low_s16(values), w[j]);
            sum[2 * c + 1] = vmlal_high_n_s16(sum[2 * c + 1], values, w[j]);
        }
    EK_UNROLLED_FOR(8, int32_t c = 0; c < 2 * eights; c++)
        vst1q_s32(to + 4 * c, sum[c]);
}

#endif
