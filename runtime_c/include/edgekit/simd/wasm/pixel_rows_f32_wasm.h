/* Lines of pixels whose windows are whole: sums of products of floats, six pixels and eight outputs at a time. Weights are
 * tiled O/8! H W I o8, or O/8! I o8. */
#ifndef EDGEKIT_PIXEL_ROWS_F32_WASM_H
#define EDGEKIT_PIXEL_ROWS_F32_WASM_H

#include <stddef.h>
#include <wasm_simd128.h>

#include "edgekit/loops/weight_kinds.h"

/* Engines keep the order of a module, and have sixteen registers: compilers would load much in advance. */
#define EK_KEEP_WASM(v) __asm__ volatile("" : "+r"(v)::"memory");

/* Lines of pixels, some elements apart in x and behind each other in y. A window is `rows` runs of x, each of `cells`. */
struct ek_lines_f32_wasm {
    const float *x;
    const float *b;
    float *y;
    int32_t lines;
    int32_t line_step;
    int32_t x_step;
    int32_t length;
    int32_t rows;
    int32_t cells;
    int32_t row_step;
    int32_t outputs;
    float lo;
    float hi;
};

/* The weights of eight outputs, n, from number `at` on: if they are no floats, they are widened into `room`. */
EK_INLINE const float *ek_f32_once_wasm(const float *w, const int32_t at, const int32_t n, float *room)
{
    (void)n;
    (void)room;
    return w + at;
}

EK_INLINE const float *ek_bf16_once_wasm(const uint16_t *w, const int32_t at, const int32_t n, float *room)
{
    for (int32_t i = 0; i < n; i += 4)
        wasm_v128_store(room + i, wasm_i32x4_shl(wasm_u32x4_load16x4(w + at + i), 16));
    return room;
}

/* In integers: a subnormal half is a fraction of 2^-14, which is put behind 2^-14, and that is taken away. */
EK_INLINE const float *ek_f16_once_wasm(const uint16_t *w, const int32_t at, const int32_t n, float *room)
{
    const v128_t bias = wasm_i32x4_splat(112 << 23);
    for (int32_t i = 0; i < n; i += 4) {
        const v128_t h = wasm_u32x4_load16x4(w + at + i);
        const v128_t magnitude = wasm_i32x4_shl(wasm_v128_and(h, wasm_i32x4_splat(0x7FFF)), 13);
        const v128_t is_top = wasm_i32x4_ge(magnitude, wasm_i32x4_splat(0x0F800000));
        const v128_t normal = wasm_i32x4_add(wasm_i32x4_add(magnitude, bias), wasm_v128_and(is_top, bias));
        const v128_t fraction = wasm_f32x4_sub(
            wasm_i32x4_add(magnitude, wasm_i32x4_splat(113 << 23)), wasm_f32x4_splat(6.10351562e-05f));
        const v128_t is_subnormal = wasm_i32x4_lt(magnitude, wasm_i32x4_splat(0x00800000));
        const v128_t sign = wasm_i32x4_shl(wasm_v128_and(h, wasm_i32x4_splat(0x8000)), 16);
        wasm_v128_store(room + i, wasm_v128_or(wasm_v128_bitselect(fraction, normal, is_subnormal), sign));
    }
    return room;
}

/* sum + a b, with one rounding where relaxed vectors have that. */
EK_INLINE v128_t ek_madd_wasm(const v128_t sum, const v128_t a, const v128_t b)
{
#ifdef __wasm_relaxed_simd__
    return wasm_f32x4_relaxed_madd(a, b, sum);
#else
    return wasm_f32x4_add(sum, wasm_f32x4_mul(a, b));
#endif
}

/* Not below lo and not above hi; what is no number stays. */
EK_INLINE v128_t ek_within_wasm(const v128_t v, const float lo, const float hi)
{
    return wasm_f32x4_pmin(wasm_f32x4_pmax(v, wasm_f32x4_splat(lo)), wasm_f32x4_splat(hi));
}

/* The first n of four, which may be less than one or more than four. */
EK_INLINE void ek_store_f32_wasm(float *y, const v128_t v, const int32_t n)
{
    if (n >= 4)
        wasm_v128_store(y, v);
    else {
        if (n > 0)
            wasm_v128_store32_lane(y, v, 0);
        if (n > 1)
            wasm_v128_store32_lane(y + 1, v, 1);
        if (n > 2)
            wasm_v128_store32_lane(y + 2, v, 2);
    }
}

/* Eight outputs of six pixels, whose windows start at x[0] to x[5]; n of the outputs exist, and no pixel of y behind the
 * one with number `last`. */
EK_INLINE void ek_tile_f32_wasm(const float *const *x, const float *w, const v128_t *bias, float *y,
    const int32_t last, const int32_t n, const struct ek_lines_f32_wasm *l)
{
    v128_t sum[6][2];
    EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++) {
        sum[q][0] = bias[0];
        sum[q][1] = bias[1];
    }
    const int32_t rows = l->rows, cells = l->cells, row_step = l->row_step;
    for (int32_t i = 0; i < rows; i++) {
        size_t at = (size_t)(i * row_step);
        EK_UNROLLED_FOR(2, int32_t c = 0; c < cells; c++, at++, w += 8) {
            const v128_t v = wasm_v128_load(w), u = wasm_v128_load(w + 4);
            EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++) {
                const v128_t t = wasm_v128_load32_splat(x[q] + at);
                sum[q][0] = ek_madd_wasm(sum[q][0], t, v);
                EK_KEEP_WASM(sum[q][0])
                sum[q][1] = ek_madd_wasm(sum[q][1], t, u);
                EK_KEEP_WASM(sum[q][1])
            }
        }
    }
    EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++) {
        float *const here = y + (q < last ? q : last) * l->outputs;
        ek_store_f32_wasm(here, ek_within_wasm(sum[q][0], l->lo, l->hi), n);
        ek_store_f32_wasm(here + 4, ek_within_wasm(sum[q][1], l->lo, l->hi), n - 4);
    }
}

/* Eight outputs from number `first` on of all pixels, of which six are computed at a time. The last six pixels may be
 * computed twice in part; where there are less than six, one is computed several times. Once for all layers. */
static EK_SHARED void ek_lines_f32_wasm(
    const struct ek_lines_f32_wasm *l, const float *w, const int32_t first)
{
    const int32_t pixels = l->lines * l->length;
    const v128_t bias[2] = {wasm_v128_load(l->b + first), wasm_v128_load(l->b + first + 4)};
    for (int32_t k = 0, line = 0, column = 0; k < pixels; k += 6) {
        int32_t start = k;
        if (k + 6 > pixels) {
            start = pixels > 6 ? pixels - 6 : 0;
            line = start / l->length;
            column = start - line * l->length;
        }
        const float *x[6];
        const float *const first_x = l->x + line * l->line_step + column * l->x_step;
        if (column + 6 <= l->length) {
            EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++)
                x[q] = first_x + q * l->x_step;
            column += 6;
            if (column == l->length) {
                column = 0;
                line++;
            }
        } else
            EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++) {
                x[q] = l->x + line * l->line_step + column * l->x_step;
                if (start + q + 1 < pixels)
                    column++;
                if (column == l->length) {
                    column = 0;
                    line++;
                }
            }
        ek_tile_f32_wasm(
            x, w, bias, l->y + start * l->outputs + first, pixels - 1 - start, l->outputs - first, l);
    }
}

/* The same where there are few pixels: each has four sums of an output, as engines take a while for each. */
static EK_SHARED void ek_rows_f32_wasm(
    const struct ek_lines_f32_wasm *l, const float *weights, const int32_t first)
{
    for (int32_t r = 0; r < l->length; r++) {
        const float *w = weights, *x = l->x + r * l->x_step;
        v128_t sum[4][2];
        for (int32_t k = 0; k < 4; k++)
            for (int32_t o = 0; o < 2; o++)
                sum[k][o] = k == 0 ? wasm_v128_load(l->b + first + 4 * o) : wasm_f32x4_splat(0.0f);
        int32_t c = 0;
        for (; c + 4 <= l->cells; c += 4, w += 32)
            EK_UNROLLED_FOR(32, size_t k = 0; k < 4; k++) {
                const v128_t t = wasm_v128_load32_splat(x + (size_t)c + k);
                sum[k][0] = ek_madd_wasm(sum[k][0], t, wasm_v128_load(w + 8 * k));
                sum[k][1] = ek_madd_wasm(sum[k][1], t, wasm_v128_load(w + 8 * k + 4));
            }
        for (; c < l->cells; c++, w += 8) {
            const v128_t t = wasm_v128_load32_splat(x + c);
            sum[0][0] = ek_madd_wasm(sum[0][0], t, wasm_v128_load(w));
            sum[0][1] = ek_madd_wasm(sum[0][1], t, wasm_v128_load(w + 4));
        }
        for (int32_t o = 0; o < 2; o++) {
            const v128_t total =
                wasm_f32x4_add(wasm_f32x4_add(sum[0][o], sum[1][o]), wasm_f32x4_add(sum[2][o], sum[3][o]));
            ek_store_f32_wasm(l->y + r * l->outputs + first + 4 * o, ek_within_wasm(total, l->lo, l->hi),
                l->outputs - first - 4 * o);
        }
    }
}

/* All outputs, with weights as they are; of few pixels. */
static EK_SHARED void ek_f32_outputs_wasm(const struct ek_lines_f32_wasm *l, const float *w, float *room)
{
    const int32_t n = l->rows * l->cells * 8;
    for (int32_t o = 0; o < l->outputs; o += 8)
        ek_lines_f32_wasm(l, ek_f32_once_wasm(w, o / 8 * n, n, room), o);
}

static EK_SHARED void ek_f32_few_wasm(const struct ek_lines_f32_wasm *l, const float *w, float *room)
{
    const int32_t n = l->cells * 8;
    for (int32_t o = 0; o < l->outputs; o += 8)
        ek_rows_f32_wasm(l, ek_f32_once_wasm(w, o / 8 * n, n, room), o);
}

/* All outputs, with weights of bfloat16; of few pixels. */
static EK_SHARED void ek_bf16_outputs_wasm(const struct ek_lines_f32_wasm *l, const uint16_t *w, float *room)
{
    const int32_t n = l->rows * l->cells * 8;
    for (int32_t o = 0; o < l->outputs; o += 8)
        ek_lines_f32_wasm(l, ek_bf16_once_wasm(w, o / 8 * n, n, room), o);
}

static EK_SHARED void ek_bf16_few_wasm(const struct ek_lines_f32_wasm *l, const uint16_t *w, float *room)
{
    const int32_t n = l->cells * 8;
    for (int32_t o = 0; o < l->outputs; o += 8)
        ek_rows_f32_wasm(l, ek_bf16_once_wasm(w, o / 8 * n, n, room), o);
}

/* All outputs, with weights of float16; of few pixels. */
static EK_SHARED void ek_f16_outputs_wasm(const struct ek_lines_f32_wasm *l, const uint16_t *w, float *room)
{
    const int32_t n = l->rows * l->cells * 8;
    for (int32_t o = 0; o < l->outputs; o += 8)
        ek_lines_f32_wasm(l, ek_f16_once_wasm(w, o / 8 * n, n, room), o);
}

static EK_SHARED void ek_f16_few_wasm(const struct ek_lines_f32_wasm *l, const uint16_t *w, float *room)
{
    const int32_t n = l->cells * 8;
    for (int32_t o = 0; o < l->outputs; o += 8)
        ek_rows_f32_wasm(l, ek_f16_once_wasm(w, o / 8 * n, n, room), o);
}

#endif
