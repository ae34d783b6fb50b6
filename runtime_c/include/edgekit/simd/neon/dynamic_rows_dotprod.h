/* Rows that were quantized in this run, by SDOT: blocks of 16 outputs.
 *
 * Weights of 8 bits lie in fours of an output; those of 4 bits, 8 more, in eights, the first four in the lower halves of
 * bytes. */
#ifndef EDGEKIT_DYNAMIC_ROWS_DOTPROD_H
#define EDGEKIT_DYNAMIC_ROWS_DOTPROD_H

#include "edgekit/simd/neon/dynamic_sums_neon.h"

/* Adds the products of `count` inputs, whole eights, of some rows and a block of outputs. A single row has two sums of each
 * output, so that one product need not wait for the other. */
EK_INLINED void ek_dr_products(ek_dr_ints *sum, const int8_t *x, const int32_t step, const void *w,
    const int32_t count, const int32_t rows, const int32_t kind)
{
    const int8_t *from = (const int8_t *)w;
    ek_dr_ints others[4];
    EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++)
        others[k] = vdupq_n_s32(0);
    for (int32_t i = 0; i < count; i += 8, from += kind == EK_S4_KIND ? 64 : 128) {
        int8x8_t v[4];
        EK_UNROLLED_FOR(4, int32_t r = 0; r < rows; r++)
            v[r] = vld1_s8(x + r * step + i);
        EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++) {
            int8x16_t first = vld1q_s8(from + 16 * k), second;
            if (kind == EK_S4_KIND) {
                second = vreinterpretq_s8_u8(vshrq_n_u8(vreinterpretq_u8_s8(first), 4));
                first = vandq_s8(first, vdupq_n_s8(15));
            } else
                second = vld1q_s8(from + 64 + 16 * k);
            EK_UNROLLED_FOR(4, int32_t r = 0; r < rows; r++) {
                ek_dr_ints *const next = rows == 1 ? others + k : sum + 4 * r + k;
                sum[4 * r + k] = vdotq_lane_s32(sum[4 * r + k], first, v[r], 0);
                *next = vdotq_lane_s32(*next, second, v[r], 1);
            }
        }
    }
    if (rows == 1)
        EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++)
            sum[k] = vaddq_s32(sum[k], others[k]);
}

#endif
