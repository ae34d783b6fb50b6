/* Rows that were quantized in this run, by SMMLA: blocks of 16 outputs, eight inputs of which lie side by side. In bytes
 * of 4-bit weights, 8 more, lower halves are of the first eight outputs. */
#ifndef EDGEKIT_DYNAMIC_ROWS_I8MM_H
#define EDGEKIT_DYNAMIC_ROWS_I8MM_H

#include "edgekit/simd/neon/dynamic_sums_neon.h"

/* Pairs of outputs, eight weights each. */
EK_INLINED void ek_dr_weights(int8x16_t *to, const int8_t *w, const int32_t kind)
{
    EK_UNROLLED_FOR(8, int32_t k = 0; k < 4; k++) {
        const int8x16_t both = vld1q_s8(w + 16 * k);
        if (kind == EK_S4_KIND) {
            to[k] = vandq_s8(both, vdupq_n_s8(15));
            to[4 + k] = vreinterpretq_s8_u8(vshrq_n_u8(vreinterpretq_u8_s8(both), 4));
        } else {
            to[k] = both;
            to[4 + k] = vld1q_s8(w + 64 + 16 * k);
        }
    }
}

/* Two sums of each output of a row. */
EK_INLINED void ek_dr_row(
    ek_dr_ints *sum, const int8_t *x, const int8_t *w, const int32_t count, const int32_t kind)
{
    ek_dr_ints parts[8];
    EK_UNROLLED_FOR(8, int32_t k = 0; k < 8; k++)
        parts[k] = vdupq_n_s32(0);
    for (int32_t i = 0; i < count; i += 8, w += kind == EK_S4_KIND ? 64 : 128) {
        const int8x8_t eight = vld1_s8(x + i);
        const int8x16_t twice = vcombine_s8(eight, eight);
        int8x16_t v[8];
        ek_dr_weights(v, w, kind);
        EK_UNROLLED_FOR(8, int32_t k = 0; k < 8; k++)
            parts[k] = vdotq_s32(parts[k], v[k], twice);
    }
    EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++)
        sum[k] = vaddq_s32(sum[k], vpaddq_s32(parts[2 * k], parts[2 * k + 1]));
}

/* Two numbers of a, and two of b: the lower ones, or the upper. */
EK_INLINE ek_dr_ints ek_dr_halves(const ek_dr_ints a, const ek_dr_ints b, const int32_t is_upper)
{
    const int64x2_t u = vreinterpretq_s64_s32(a), v = vreinterpretq_s64_s32(b);
    return vreinterpretq_s32_s64(is_upper ? vzip2q_s64(u, v) : vzip1q_s64(u, v));
}

/* Sums of two rows and two outputs in each register. */
EK_INLINED void ek_dr_four_rows(ek_dr_ints *sum, const int8_t *x, const int32_t step, const int8_t *w,
    const int32_t count, const int32_t kind)
{
    ek_dr_ints low[8], high[8];
    EK_UNROLLED_FOR(8, int32_t k = 0; k < 8; k++)
        low[k] = high[k] = vdupq_n_s32(0);
    for (int32_t i = 0; i < count; i += 8, w += kind == EK_S4_KIND ? 64 : 128) {
        const int8_t *const from = x + i;
        const int8x16_t first = vcombine_s8(vld1_s8(from), vld1_s8(from + step));
        const int8x16_t second = vcombine_s8(vld1_s8(from + 2 * step), vld1_s8(from + 3 * step));
        int8x16_t v[8];
        ek_dr_weights(v, w, kind);
        EK_UNROLLED_FOR(8, int32_t k = 0; k < 8; k++) {
            low[k] = vmmlaq_s32(low[k], first, v[k]);
            high[k] = vmmlaq_s32(high[k], second, v[k]);
        }
    }
    EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++)
        EK_UNROLLED_FOR(2, int32_t r = 0; r < 2; r++) {
            const ek_dr_ints a = ek_dr_halves(low[2 * k], low[2 * k + 1], r);
            const ek_dr_ints b = ek_dr_halves(high[2 * k], high[2 * k + 1], r);
            sum[4 * r + k] = vaddq_s32(sum[4 * r + k], a);
            sum[4 * (r + 2) + k] = vaddq_s32(sum[4 * (r + 2) + k], b);
        }
}

/* Adds the products of `count` inputs, whole eights, of one row or four and a block of outputs. */
EK_INLINED void ek_dr_products(ek_dr_ints *sum, const int8_t *x, const int32_t step, const void *w,
    const int32_t count, const int32_t rows, const int32_t kind)
{
    if (rows == 1)
        ek_dr_row(sum, x, (const int8_t *)w, count, kind);
    else
        ek_dr_four_rows(sum, x, step, (const int8_t *)w, count, kind);
}

#endif
