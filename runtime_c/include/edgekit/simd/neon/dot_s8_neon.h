/* Sums of products of int8, four at a time (SDOT): pixels x outputs in registers.
 * Weights are packed as O/16!4 HWI/4! o16 hwi4: four cells of the outputs of a tile, up to sixteen, lie side by side. */
#ifndef EDGEKIT_DOT_S8_NEON_H
#define EDGEKIT_DOT_S8_NEON_H

#include "edgekit/simd/neon/fixed_neon.h"
#include "edgekit/types.h"

/* Cells that are multiplied at once: pieces of windows are whole multiples, or gathered. And blocks of a tile. */
#define EK_DOT_CELLS 4
#define EK_DOT_BLOCKS 4

/* What four cells add to a pixel's sums: a lane of its vector x times the weights of each block. */
#define EK_DOT_PIXEL(p, dot, lane)                                                                           \
    if (pixels > p) {                                                                                        \
        sum[4 * p] = dot(sum[4 * p], w0, x##p, lane);                                                        \
        if (blocks > 1)                                                                                      \
            sum[4 * p + 1] = dot(sum[4 * p + 1], w1, x##p, lane);                                            \
        if (blocks > 2)                                                                                      \
            sum[4 * p + 2] = dot(sum[4 * p + 2], w2, x##p, lane);                                            \
        if (blocks > 3)                                                                                      \
            sum[4 * p + 3] = dot(sum[4 * p + 3], w3, x##p, lane);                                            \
    }

#define EK_DOT_FOUR(dot, lane)                                                                               \
    {                                                                                                        \
        const int8x16_t w0 = vld1q_s8(w);                                                                    \
        const int8x16_t w1 = blocks > 1 ? vld1q_s8(w + 16) : w0;                                             \
        const int8x16_t w2 = blocks > 2 ? vld1q_s8(w + 32) : w0;                                             \
        const int8x16_t w3 = blocks > 3 ? vld1q_s8(w + 48) : w0;                                             \
        EK_DOT_PIXEL(0, dot, lane)                                                                           \
        EK_DOT_PIXEL(1, dot, lane)                                                                           \
        EK_DOT_PIXEL(2, dot, lane)                                                                           \
        EK_DOT_PIXEL(3, dot, lane)                                                                           \
        w += 16 * blocks;                                                                                    \
    }

#define EK_DOT_LOAD(type, load)                                                                              \
    const type x0 = load(x + c);                                                                             \
    const type x1 = pixels > 1 ? load(x + c + step) : x0;                                                    \
    const type x2 = pixels > 2 ? load(x + c + 2 * step) : x0;                                                \
    const type x3 = pixels > 3 ? load(x + c + 3 * step) : x0;

/* Adds to sum[4 p + b], for one to four pixels and blocks. A pixel's cells are `rows` pieces of `length`, `row`
 * apart; pixels are `step` apart. Only a single piece may be no multiple of four. */
EK_INLINE void ek_dot_s8_neon(const int8_t *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const int8_t *EK_RESTRICT w, const int32_t pixels,
    const int32_t blocks, int32x4_t *EK_RESTRICT sum)
{
    for (int32_t i = 0; i < rows; i++, x += row) {
        int32_t c = 0;
        for (; c + 16 <= length; c += 16) {
            EK_DOT_LOAD(int8x16_t, vld1q_s8)
            EK_DOT_FOUR(vdotq_laneq_s32, 0)
            EK_KEEP_ORDER
            EK_DOT_FOUR(vdotq_laneq_s32, 1)
            EK_KEEP_ORDER
            EK_DOT_FOUR(vdotq_laneq_s32, 2)
            EK_KEEP_ORDER
            EK_DOT_FOUR(vdotq_laneq_s32, 3)
            EK_KEEP_ORDER
        }
        if (length & 8) {
            EK_DOT_LOAD(int8x8_t, vld1_s8)
            EK_DOT_FOUR(vdotq_lane_s32, 0)
            EK_DOT_FOUR(vdotq_lane_s32, 1)
            c += 8;
        }
        if (length & 4) {
            EK_DOT_LOAD(int8x8_t, ek_load4_neon)
            EK_DOT_FOUR(vdotq_lane_s32, 0)
            c += 4;
        }
        if (length & 3) {
            const int32_t rest = length & 3;
            const int8x8_t x0 = ek_load_tail_neon(x + c, rest);
            const int8x8_t x1 = pixels > 1 ? ek_load_tail_neon(x + c + step, rest) : x0;
            const int8x8_t x2 = pixels > 2 ? ek_load_tail_neon(x + c + 2 * step, rest) : x0;
            const int8x8_t x3 = pixels > 3 ? ek_load_tail_neon(x + c + 3 * step, rest) : x0;
            EK_DOT_FOUR(vdotq_lane_s32, 0)
        }
    }
}

#endif
