/* Sums of products of int8 in WebAssembly with weights of which blocks, two or four inputs of eight outputs, are zero and
 * left out. A line of pixels, each of which is a row of x as pixel_rows_s8_wasm.h prepares it. */
#ifndef EDGEKIT_BLOCK_SPARSE_S8_WASM_H
#define EDGEKIT_BLOCK_SPARSE_S8_WASM_H

#include "edgekit/simd/wasm/pixel_rows_s8_wasm.h"

/* Bytes of x in front of the inputs of a block, and its weights. */
EK_INLINE size_t ek_block_at_wasm(const int32_t *block, const int32_t cells)
{
    return (size_t)block[0] * (cells == 4 ? 1 : 2);
}
EK_INLINE v128_t ek_block_weights_wasm(const int32_t *block, const int32_t half, const int32_t cells)
{
    return ek_weights_wasm((const int8_t *)(const void *)(block + 1) + half * 4 * cells, cells);
}

/* Sums of eight outputs of one pixel; the blocks of a pair add to sums of their own, as engines take a while for each. */
EK_INLINE void ek_block_pixel_wasm(int32_t *sums, const uint8_t *x, const int32_t *w, const int32_t pairs,
    const struct ek_outputs_wasm *outputs, const int32_t cells)
{
    const int32_t words = 1 + 2 * cells;
    v128_t sum[2][2] = {{outputs->bias[0], outputs->bias[1]}, {wasm_i32x4_splat(0), wasm_i32x4_splat(0)}};
    for (int32_t i = 0; i < pairs; i++)
        EK_UNROLLED_FOR(32, int32_t k = 0; k < 2; k++, w += words) {
            const v128_t t = wasm_v128_load32_splat(x + ek_block_at_wasm(w, cells));
            sum[k][0] = ek_dot_wasm(sum[k][0], ek_block_weights_wasm(w, 0, cells), t, cells);
            sum[k][1] = ek_dot_wasm(sum[k][1], ek_block_weights_wasm(w, 1, cells), t, cells);
        }
    wasm_v128_store(sums, wasm_i32x4_add(sum[0][0], sum[1][0]));
    wasm_v128_store(sums + 4, wasm_i32x4_add(sum[0][1], sum[1][1]));
}

/* The same of six pixels. */
EK_INLINE void ek_block_pixels_wasm(int32_t *sums, const uint8_t *const *x, const int32_t *w,
    const int32_t pairs, const struct ek_outputs_wasm *outputs, const int32_t cells)
{
    v128_t sum[6][2];
    EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++) {
        sum[q][0] = outputs->bias[0];
        sum[q][1] = outputs->bias[1];
    }
    for (int32_t i = 0; i < 2 * pairs; i++, w += 1 + 2 * cells)
        ek_step_wasm(sum, x, ek_block_at_wasm(w, cells), ek_block_weights_wasm(w, 0, cells),
            ek_block_weights_wasm(w, 1, cells), cells);
    EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++) {
        wasm_v128_store(sums + 8 * q, sum[q][0]);
        wasm_v128_store(sums + 8 * q + 4, sum[q][1]);
    }
}

/* All outputs of all pixels, six at a time where there are so many; where less are left, one is computed several times. */
EK_INLINE void ek_blocks_s8_wasm(const struct ek_lines_s8_wasm *l, const int32_t cells)
{
    const int32_t words = 1 + 2 * cells, step = l->length < 4 ? 1 : 6;
    const int32_t *w = (const int32_t *)(const void *)l->w;
    for (int32_t first = 0; first < l->outputs; first += 8) {
        const int32_t pairs = *w++;
        struct ek_outputs_wasm outputs;
        int32_t sums[8 * EK_HELD_WASM];
        ek_outputs_wasm(&outputs, l->w, 0, l->b, l->m, l->e, first, l->outputs, 0, &l->results);
        if (cells == 4 && !l->is_unsigned)
            for (int32_t i = 0; i < 2 * pairs; i++)
                for (int32_t k = 0; k < 2; k++) {
                    const v128_t some = ek_block_weights_wasm(w + i * words, k, cells);
                    const v128_t half = wasm_i8x16_splat(64);
                    outputs.bias[k] =
                        ek_dot_wasm(ek_dot_wasm(outputs.bias[k], some, half, cells), some, half, cells);
                }
        for (int32_t k = 0, from = 0; k < l->length; k += step) {
            int32_t *const here = sums + 8 * (k - from);
            if (step == 1)
                ek_block_pixel_wasm(here, l->x + k * l->x_step, w, pairs, &outputs, cells);
            else {
                const uint8_t *x[6];
                EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++)
                    x[q] = l->x + (k + q < l->length ? k + q : l->length - 1) * l->x_step;
                ek_block_pixels_wasm(here, x, w, pairs, &outputs, cells);
            }
            if (k + step - from == EK_HELD_WASM || k + step >= l->length) {
                const int32_t end = k + step < l->length ? k + step : l->length;
                ek_finish_wasm(sums, l->y + from * l->outputs + first, end - from, &outputs, &l->results);
                from = end;
            }
        }
        w += 2 * pairs * words;
    }
}

/* Once for all layers. */
static EK_SHARED void ek_two_blocks_wasm(const struct ek_lines_s8_wasm *l)
{
    ek_blocks_s8_wasm(l, 2);
}

#ifdef __wasm_relaxed_simd__
static EK_SHARED void ek_four_blocks_wasm(const struct ek_lines_s8_wasm *l)
{
    ek_blocks_s8_wasm(l, 4);
}
#endif

#endif
