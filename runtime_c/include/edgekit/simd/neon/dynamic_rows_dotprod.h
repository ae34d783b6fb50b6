/* Rows that were quantized in this run, by SDOT: blocks of 16 outputs, of 8 where weights have 4 bits.
 *
 * Weights of 8 bits lie in fours of an output; those of 4 bits, 8 more, in eights, the first four in the lower halves of
 * bytes. */
#ifndef EDGEKIT_DYNAMIC_ROWS_DOTPROD_H
#define EDGEKIT_DYNAMIC_ROWS_DOTPROD_H

#include "edgekit/simd/neon/dynamic_tiles_a64.h"

#define EK_DR_START(offsets, g, groups, k, rows, vectors) ek_dr_start(offsets, g, (k) / (vectors), rows)

EK_INLINED ek_dr_ints ek_dr_start(
    const int32_t *offsets, const int32_t g, const int32_t row, const int32_t rows)
{
    if (rows == 1)
        return vdupq_n_s32(offsets[g]);
    const ek_dr_ints four = vld1q_s32(offsets + 4 * g);
    return row == 0   ? vdupq_laneq_s32(four, 0)
           : row == 1 ? vdupq_laneq_s32(four, 1)
           : row == 2 ? vdupq_laneq_s32(four, 2)
                      : vdupq_laneq_s32(four, 3);
}

#include "edgekit/loops/dynamic_rows.h"

/* Eight weights of four outputs: of the first four inputs, and of the others. */
EK_INLINED void ek_dr_weights(
    int8x16_t *first, int8x16_t *second, const int8_t *w, const int32_t k, const int32_t kind)
{
    const int8x16_t both = vld1q_s8(w + 16 * k);
    *first = kind == EK_S4_KIND ? vandq_s8(both, vdupq_n_s8(15)) : both;
    *second = kind == EK_S4_KIND ? vreinterpretq_s8_u8(vshrq_n_u8(vreinterpretq_u8_s8(both), 4))
                                 : vld1q_s8(w + 64 + 16 * k);
}

/* Eight inputs of a row. */
EK_INLINED void ek_dr_eight(
    ek_dr_ints *sum, ek_dr_ints *others, const int8_t *x, const int8_t *w, const int32_t kind)
{
    const int8x8_t v = vld1_s8(x);
    EK_UNROLLED_FOR(4, int32_t k = 0; k < EK_DR_VECTORS(kind); k++) {
        int8x16_t first, second;
        ek_dr_weights(&first, &second, w, k, kind);
        sum[k] = vdotq_lane_s32(sum[k], first, v, 0);
        others[k] = vdotq_lane_s32(others[k], second, v, 1);
    }
}

/* Two rows of a tile. */
EK_INLINED void ek_dr_two(
    ek_dr_ints *sum, const int32_t vectors, const int8x16_t first, const int8x16_t second, const int8x16_t x)
{
    sum[0] = vdotq_laneq_s32(sum[0], first, x, 0);
    sum[vectors] = vdotq_laneq_s32(sum[vectors], first, x, 2);
    sum[0] = vdotq_laneq_s32(sum[0], second, x, 1);
    sum[vectors] = vdotq_laneq_s32(sum[vectors], second, x, 3);
}

/* Eight inputs of a tile. */
EK_INLINED void ek_dr_tile(ek_dr_ints *sum, const int8_t *x, const int8_t *w, const int32_t kind)
{
    const int32_t vectors = EK_DR_VECTORS(kind);
    const int8x16_t upper = vld1q_s8(x), lower = vld1q_s8(x + 16);
    EK_UNROLLED_FOR(4, int32_t k = 0; k < vectors; k++) {
        int8x16_t first, second;
        ek_dr_weights(&first, &second, w, k, kind);
        ek_dr_two(sum + k, vectors, first, second, upper);
        ek_dr_two(sum + 2 * vectors + k, vectors, first, second, lower);
    }
}

/* Adds the products of `count` inputs, whole eights, of one row or a tile of four and a block of outputs. A single row has
 * two sums of each output, so that one product need not wait for the other. */
EK_INLINED void ek_dr_products(ek_dr_ints *sum, const int8_t *x, const int32_t step, const void *w,
    const int32_t count, const int32_t rows, const int32_t kind)
{
    const int8_t *const from = (const int8_t *)w;
    const int32_t bytes = EK_DR_BYTES(kind);
    (void)step;
    if (rows == 1) {
        ek_dr_ints others[4];
        EK_UNROLLED_FOR(4, int32_t k = 0; k < EK_DR_VECTORS(kind); k++)
            others[k] = vdupq_n_s32(0);
        EK_DR_EIGHTS(count, kind, ek_dr_eight(sum, others, x + i, from + bytes * i, kind))
        EK_UNROLLED_FOR(4, int32_t k = 0; k < EK_DR_VECTORS(kind); k++)
            sum[k] = vaddq_s32(sum[k], others[k]);
    } else {
        EK_DR_EIGHTS(count, kind, ek_dr_tile(sum, x + 4 * i, from + bytes * i, kind))
    }
}

#endif
