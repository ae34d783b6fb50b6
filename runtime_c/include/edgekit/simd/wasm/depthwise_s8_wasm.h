/* Depthwise convolutions of int8 in WebAssembly. For each line of results, rows of x are interleaved, so that a product
 * of vectors takes several taps of a column: four with relaxed vectors, else two of 16 bits. Eight channels of three
 * pixels advance together. Weights are tiled O/8! H W I o8, and interleaved like rows. */
#ifndef EDGEKIT_DEPTHWISE_S8_WASM_H
#define EDGEKIT_DEPTHWISE_S8_WASM_H

#include "edgekit/simd/wasm/pixel_rows_s8_wasm.h"

#define EK_BEHIND_WASM 64 /* bytes behind a line, where vectors may end */

/* A layer, and an image. */
struct ek_taps_s8_wasm {
    const int8_t *x;
    const int8_t *w;
    const int32_t *b;
    const int32_t *m;
    const int8_t *e;
    int8_t *y;
    uint8_t *scratch;
    int32_t in_h;
    int32_t in_w;
    int32_t channels;
    int32_t out_h;
    int32_t out_w;
    int32_t k_h;
    int32_t k_w;
    int32_t stride_h;
    int32_t stride_w;
    int32_t pad_top;
    int32_t pad_left;
    int32_t dilation_h;
    int32_t dilation_w;
    int32_t in_zero;
    int32_t is_unsigned;
    struct ek_results_wasm results;
};

/* Sixteen bytes of up to four rows, interleaved: `cells` rows of bytes, or of 16 bits. */
EK_INLINE void ek_interleave_sixteen_wasm(uint8_t *y, const v128_t *t, const int32_t cells)
{
    const v128_t a = wasm_i8x16_shuffle(t[0], t[1], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const v128_t b =
        wasm_i8x16_shuffle(t[0], t[1], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    if (cells == 2) {
        wasm_v128_store(y, wasm_i16x8_extend_low_i8x16(a));
        wasm_v128_store(y + 16, wasm_i16x8_extend_high_i8x16(a));
        wasm_v128_store(y + 32, wasm_i16x8_extend_low_i8x16(b));
        wasm_v128_store(y + 48, wasm_i16x8_extend_high_i8x16(b));
    } else {
        const v128_t c =
            wasm_i8x16_shuffle(t[2], t[3], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        const v128_t d =
            wasm_i8x16_shuffle(t[2], t[3], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        wasm_v128_store(y, wasm_i16x8_shuffle(a, c, 0, 8, 1, 9, 2, 10, 3, 11));
        wasm_v128_store(y + 16, wasm_i16x8_shuffle(a, c, 4, 12, 5, 13, 6, 14, 7, 15));
        wasm_v128_store(y + 32, wasm_i16x8_shuffle(b, d, 0, 8, 1, 9, 2, 10, 3, 11));
        wasm_v128_store(y + 48, wasm_i16x8_shuffle(b, d, 4, 12, 5, 13, 6, 14, 7, 15));
    }
}

/* As many rows from `row` on as a product takes, with their borders, interleaved. */
EK_INLINE void ek_interleave_wasm(const struct ek_taps_s8_wasm *p, uint8_t *y, const int32_t row,
    const int32_t columns, const int32_t cells)
{
    const int32_t room = columns - p->pad_left, width = room < p->in_w ? room : p->in_w;
    const int32_t size = (width > 0 ? width : 0) * p->channels, left = p->pad_left * p->channels;
    const v128_t flip = wasm_i8x16_splat((int8_t)(p->is_unsigned ? -128 : 0));
    const v128_t zero = wasm_i8x16_splat((int8_t)p->in_zero);
    const v128_t border = cells == 2 ? wasm_i16x8_splat((int16_t)p->in_zero) : wasm_v128_xor(zero, flip);
    int8_t sixteen[5][16];
    wasm_v128_store(sixteen[4], zero);
    /* Where each row is read; of the border's there are sixteen bytes, again and again, and short rows have as many. */
    const int8_t *from[4] = {sixteen[4], sixteen[4], sixteen[4], sixteen[4]};
    int32_t moves[4] = {0, 0, 0, 0};
    for (int32_t i = 0; i < cells; i++) {
        const int32_t at = row + i * p->dilation_h;
        if (at < 0 || at >= p->in_h)
            continue;
        from[i] = p->x + at * p->in_w * p->channels;
        moves[i] = -1;
        if (size < 16) {
            for (int32_t k = 0; k < size; k++)
                sixteen[i][k] = from[i][k];
            from[i] = sixteen[i];
        }
    }
    /* A vector too many is overwritten by what follows, or lies behind the line. */
    const int32_t total = columns * p->channels;
    EK_ROLLED_FOR(int32_t i = 0; i < left; i += 4)
        wasm_v128_store(y + 4 * i, border);
    EK_ROLLED_FOR(int32_t i = 0; i < size; i += 16) {
        const int32_t at = i + 16 <= size || size < 16 ? i : size - 16;
        v128_t t[4];
        EK_UNROLLED_FOR(32, int32_t k = 0; k < cells; k++)
            t[k] = wasm_v128_load(from[k] + (at & moves[k]));
        if (cells == 4)
            for (int32_t k = 0; k < 4; k++)
                t[k] = wasm_v128_xor(t[k], flip);
        ek_interleave_sixteen_wasm(y + 4 * (left + at), t, cells);
    }
    EK_ROLLED_FOR(int32_t i = left + size; i < total; i += 4)
        wasm_v128_store(y + 4 * i, border);
}

/* What a column of a window adds to eight channels of three pixels. */
EK_INLINE void ek_column_wasm(
    v128_t (*sum)[2], const uint8_t *const *x, const size_t at, const int8_t *w, const int32_t cells)
{
    const v128_t v = wasm_v128_load(w), u = wasm_v128_load(w + 16);
    EK_UNROLLED_FOR(32, int32_t q = 0; q < 3; q++) {
        sum[q][0] = ek_dot_wasm(sum[q][0], v, wasm_v128_load(x[q] + at), cells);
        EK_IN_ORDER(sum[q][0])
        sum[q][1] = ek_dot_wasm(sum[q][1], u, wasm_v128_load(x[q] + at + 16), cells);
        EK_IN_ORDER(sum[q][1])
    }
}

/* Sums of eight channels of three pixels, the later ones of which are near[0] and near[1] pixels behind the first; groups of
 * rows lie `step` bytes apart, cells of a column `column`, and pixels `pixel`. */
EK_INLINE void ek_three_pixels_wasm(int32_t *sums, const uint8_t *at_first, const int8_t *w,
    const struct ek_outputs_wasm *outputs, const size_t groups, const size_t step, const size_t column,
    const size_t pixel, const int32_t *near, const int32_t cells, const int32_t k_w)
{
    const uint8_t *const x[3] = {
        at_first, at_first + pixel * (size_t)near[0], at_first + pixel * (size_t)near[1]};
    v128_t sum[3][2];
    EK_UNROLLED_FOR(32, int32_t q = 0; q < 3; q++) {
        sum[q][0] = outputs->bias[0];
        sum[q][1] = outputs->bias[1];
    }
    for (size_t g = 0; g < groups; g++)
        for (int32_t j = 0; j < k_w; j++, w += 32)
            ek_column_wasm(sum, x, g * step + (size_t)j * column, w, cells);
    EK_UNROLLED_FOR(32, int32_t q = 0; q < 3; q++) {
        wasm_v128_store(sums + 8 * q, sum[q][0]);
        wasm_v128_store(sums + 8 * q + 4, sum[q][1]);
    }
}

/* Sums of four channels of neighbouring pixels, whose windows have three columns: each column is read once, and is the last
 * of one pixel, the second of the next and the first of that after it. The sums of pixels that are not there come first.
 * Rows are of one group, or of two. */
EK_INLINE void ek_sliding_wasm(int32_t *sums, const uint8_t *x, const int8_t *w, const v128_t bias,
    const int32_t pixels, const int32_t groups, const size_t step, const size_t pixel, const int32_t cells)
{
    v128_t weights[2][3];
    EK_UNROLLED_FOR(32, int32_t g = 0; g < groups; g++)
        EK_UNROLLED_FOR(32, int32_t j = 0; j < 3; j++)
            weights[g][j] = wasm_v128_load(w + (g * 3 + j) * 32);
    v128_t first = bias, second = bias;
    EK_ROLLED_FOR(int32_t v = 0; v < pixels + 2; v++, x += pixel, sums += 8) {
        v128_t third = second;
        second = first;
        first = bias;
        EK_UNROLLED_FOR(32, int32_t g = 0; g < groups; g++) {
            const v128_t t = wasm_v128_load(x + (size_t)g * step);
            third = ek_dot_wasm(third, weights[g][2], t, cells);
            second = ek_dot_wasm(second, weights[g][1], t, cells);
            first = ek_dot_wasm(first, weights[g][0], t, cells);
        }
        wasm_v128_store(sums, third);
    }
}

/* Some pixels of a line; those that slide come two later. */
EK_INLINE const int32_t *ek_line_of_taps_wasm(int32_t *sums, const uint8_t *x, const int8_t *w,
    const struct ek_outputs_wasm *outputs, const int32_t pixels, const size_t groups, const size_t step,
    const size_t column, const size_t pixel, const int32_t cells, const int32_t k_w)
{
    if (k_w == 3 && column == pixel && groups <= 2) {
        for (int32_t k = 0; k < 2; k++, x += 16, w += 16)
            if (groups == 1)
                ek_sliding_wasm(sums + 4 * k, x, w, outputs->bias[k], pixels, 1, step, pixel, cells);
            else
                ek_sliding_wasm(sums + 4 * k, x, w, outputs->bias[k], pixels, 2, step, pixel, cells);
        return sums + 16;
    }
    const int32_t near[2] = {pixels > 1, pixels > 2 ? 2 : pixels > 1};
    for (int32_t v = 0; v < pixels; v += 3) {
        const int32_t at = v + 3 <= pixels || pixels < 3 ? v : pixels - 3;
        ek_three_pixels_wasm(
            sums + 8 * at, x + pixel * (size_t)at, w, outputs, groups, step, column, pixel, near, cells, k_w);
    }
    return sums;
}

/* The weights of eight channels: taps of a column, as many as a product takes, are put together. */
EK_INLINE void ek_interleave_weights_wasm(
    const int8_t *w, uint8_t *y, const int32_t k_h, const int32_t k_w, const int32_t cells)
{
    for (int32_t i = 0; i < k_h; i += cells)
        for (int32_t j = 0; j < k_w; j++, y += 32) {
            v128_t t[4];
            EK_UNROLLED_FOR(32, int32_t k = 0; k < cells; k++)
                t[k] = i + k < k_h ? wasm_v128_load64_zero(w + ((i + k) * k_w + j) * 8) : wasm_i32x4_splat(0);
            ek_interleave_sixteen_wasm(y, t, cells); /* the second half is overwritten by what follows */
        }
}

/* All of an image. */
EK_INLINE void ek_taps_s8_wasm(const struct ek_taps_s8_wasm *p, const int32_t cells)
{
    const size_t groups = (size_t)((p->k_h + cells - 1) / cells), wide = (size_t)p->channels * 4;
    const int32_t columns = (p->out_w - 1) * p->stride_w + (p->k_w - 1) * p->dilation_w + 1;
    const size_t step = (size_t)columns * wide + EK_BEHIND_WASM, taps = groups * (size_t)p->k_w * 32;
    const size_t pixel = (size_t)p->stride_w * wide, blocks = ((size_t)p->channels + 7) / 8;
    struct ek_outputs_wasm *outputs = (struct ek_outputs_wasm *)(void *)p->scratch;
    uint8_t *const weights = p->scratch + blocks * sizeof *outputs, *const lines = weights + blocks * taps;
    for (int32_t c = 0; c < p->channels; c += 8) {
        int8_t *const here = (int8_t *)weights + (size_t)(c / 8) * taps;
        ek_interleave_weights_wasm(p->w + c * p->k_h * p->k_w, (uint8_t *)here, p->k_h, p->k_w, cells);
        ek_outputs_wasm(outputs + c / 8, here, (int32_t)groups * p->k_w, p->b, p->m, p->e, c, p->channels,
            cells == 4 && !p->is_unsigned, &p->results);
    }
    /* Of two groups of two rows, the second is the first of a later line, when it is still there. */
    const int32_t below = cells * p->dilation_h, later = below / p->stride_h;
    const int32_t again = cells == 2 && groups == 2 && below % p->stride_h == 0,
                  held = again ? later + 1 : (int32_t)groups;
    for (int32_t h = 0; h < p->out_h; h++) {
        const int32_t row = h * p->stride_h - p->pad_top;
        size_t at[2] = {
            again ? (size_t)(h % held) * step : 0, again ? (size_t)((h + later) % held) * step : step};
        for (int32_t g = again && h >= later; g < (int32_t)groups; g++)
            ek_interleave_wasm(
                p, lines + (g < 2 ? at[g] : (size_t)g * step), row + below * g, columns, cells);
        for (int32_t c = 0; c < p->channels; c += 8)
            for (int32_t v = 0; v < p->out_w; v += EK_HELD_WASM) {
                const int32_t pixels = p->out_w - v < EK_HELD_WASM ? p->out_w - v : EK_HELD_WASM;
                int32_t room[8 * (EK_HELD_WASM + 2)];
                const int32_t *sums = ek_line_of_taps_wasm(room, lines + at[0] + pixel * (size_t)v + 4 * c,
                    (const int8_t *)weights + (size_t)(c / 8) * taps, outputs + c / 8, pixels, groups,
                    at[1] - at[0], (size_t)p->dilation_w * wide, pixel, cells, p->k_w);
                ek_finish_wasm(
                    sums, p->y + (h * p->out_w + v) * p->channels + c, pixels, outputs + c / 8, &p->results);
            }
    }
}

/* Once for all layers: with two taps a step. */
static EK_SHARED void ek_two_taps_wasm(const struct ek_taps_s8_wasm *p)
{
    ek_taps_s8_wasm(p, 2);
}

#ifdef __wasm_relaxed_simd__
/* With four. */
static EK_SHARED void ek_four_taps_wasm(const struct ek_taps_s8_wasm *p)
{
    ek_taps_s8_wasm(p, 4);
}
#endif

#endif
