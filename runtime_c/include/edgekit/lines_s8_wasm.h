/* Lines of pixels whose windows are whole: sums of products of int8, four pixels and eight outputs at a time.
 * With relaxed vectors a step takes four cells, bytes of x with the top bit flipped where the engine has unsigned ones;
 * else two cells, which are widened to 16 bits. Weights are tiled O/4! H WI/4! o4 wi4, or WI/2! and wi2. */
#ifndef EDGEKIT_LINES_S8_WASM_H
#define EDGEKIT_LINES_S8_WASM_H

#include "edgekit/fixed_wasm.h"

/* Engines keep the order of a module, and have sixteen registers: compilers would load much in advance. */
#define EK_IN_ORDER(v) __asm__ volatile("" : "+r"(v)::"memory");

/* Lines of pixels, some bytes apart in x and behind each other in y. A window is `rows` runs of x, each of `chunks` steps of
 * `cells` (4 or 2). */
struct ek_lines_s8_wasm {
    const uint8_t *x;
    const int8_t *w;
    const int32_t *b;
    const int32_t *m;
    const int8_t *e;
    int8_t *y;
    int32_t lines;
    int32_t line_step;
    int32_t x_step;
    int32_t length;
    int32_t rows;
    int32_t chunks;
    int32_t row_step;
    int32_t outputs;
    int32_t is_unsigned;
    struct ek_results_wasm results;
};

/* Four weights each of four outputs, or two, as factors. */
EK_INLINE v128_t ek_weights_wasm(const int8_t *w, const int32_t cells)
{
    return cells == 4 ? wasm_v128_load(w) : wasm_i16x8_load8x8(w);
}

EK_INLINE v128_t ek_dot_wasm(const v128_t sum, const v128_t w, const v128_t x, const int32_t cells)
{
#ifdef __wasm_relaxed_simd__
    if (cells == 4)
        return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w, x, sum);
#endif
    (void)cells;
    return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(x, w));
}

/* `size` cells of x as the sums want them. */
EK_INLINE void ek_prepare_wasm(
    const int8_t *x, uint8_t *y, const int32_t size, const int32_t cells, const int32_t flip)
{
    int32_t i = 0;
    if (cells == 4) {
        for (; i + 16 <= size; i += 16)
            wasm_v128_store(y + i, wasm_v128_xor(wasm_v128_load(x + i), wasm_i8x16_splat((int8_t)flip)));
        for (; i < size; i++)
            y[i] = (uint8_t)(x[i] ^ flip);
    } else {
        for (; i + 8 <= size; i += 8)
            wasm_v128_store(y + 2 * i, wasm_i16x8_load8x8(x + i));
        for (; i < size; i++) {
            const int16_t wide = x[i];
            __builtin_memcpy(y + 2 * i, &wide, 2);
        }
    }
}

/* `size` cells of the same value. */
EK_INLINE void ek_fill_wasm(
    uint8_t *y, const int32_t value, const int32_t size, const int32_t cells, const int32_t flip)
{
    if (cells == 4)
        (void)__builtin_memset(y, (uint8_t)(value ^ flip), (size_t)size);
    else
        for (int32_t i = 0; i < size; i++) {
            const int16_t wide = (int16_t)value;
            __builtin_memcpy(y + 2 * i, &wide, 2);
        }
}

/* What four channels start with, and how their sums become results. */
struct ek_channels_wasm {
    v128_t bias;
    struct ek_scales_wasm scales;
};

/* Eight channels, from number `o` on, whose weights are `steps` steps. Biases are for unsigned cells: where engines have
 * others, they are 128 less. */
static EK_SHARED EK_SMALL_WASM void ek_eight_channels_wasm(struct ek_channels_wasm *c, const int8_t *w,
    int32_t steps, const int32_t *b, const int32_t *m, const int8_t *e, int32_t o, int32_t is_shifted,
    const struct ek_results_wasm *r)
{
    for (int32_t k = 0; k < 2; k++, c++, w += 16, o += 4) {
        c->bias = wasm_v128_load(b + o);
        c->scales = ek_scales_wasm(m, e, o, r);
        for (int32_t i = 0; is_shifted && i < steps; i++) {
            const v128_t some = wasm_v128_load(w + 32 * i), half = wasm_i8x16_splat(64);
            c->bias = ek_dot_wasm(ek_dot_wasm(c->bias, some, half, 4), some, half, 4);
        }
    }
}

/* n of eight results of a pixel. */
EK_INLINE void ek_finish_wasm(const v128_t *z, const v128_t least, const int32_t *sums,
    const struct ek_lines_s8_wasm *l, const int32_t first, int8_t *y, const int32_t n)
{
    if (__builtin_expect(wasm_v128_any_true(wasm_i32x4_lt(least, wasm_i32x4_splat(4))), 0)) {
        ek_exact_wasm(sums, l->m + first, l->results.kind < 2 ? l->e : l->e + first, y, 0, 1, n, &l->results);
        return;
    }
    const v128_t whole =
        wasm_i16x8_narrow_i32x4(wasm_i32x4_shr(z[0], EK_POINT_WASM), wasm_i32x4_shr(z[1], EK_POINT_WASM));
    v128_t bytes = wasm_u8x16_narrow_i16x8(whole, whole);
    bytes = wasm_u8x16_max(bytes, wasm_u8x16_splat((uint8_t)(l->results.lo + 128)));
    bytes = wasm_u8x16_min(bytes, wasm_u8x16_splat((uint8_t)(l->results.hi + 128)));
    bytes = wasm_v128_xor(bytes, wasm_i8x16_splat(-128));
    ek_store_wasm(y, (uint64_t)wasm_i64x2_extract_lane(bytes, 0), n);
}

/* An image, and how much of it and of what is around it becomes one of whole windows. */
struct ek_image_s8_wasm {
    int32_t in_h;
    int32_t in_w;
    int32_t in_c;
    int32_t step_h; /* elements, as in conv2d_int.h */
    int32_t step_w;
    int32_t step_c;
    int32_t top; /* rows and columns of the border */
    int32_t left;
    int32_t rows;
    int32_t columns;
    int32_t zero; /* what the border holds */
    int32_t cells; /* as in ek_lines_s8_wasm */
    int32_t flip;
};

/* Copies an image with its border. */
static EK_SHARED EK_SMALL_WASM void ek_bordered_wasm(
    const int8_t *x, uint8_t *y, const struct ek_image_s8_wasm *p)
{
    const int32_t size = p->cells == 4 ? 1 : 2, room = p->columns - p->left;
    for (int32_t h = 0; h < p->rows; h++) {
        const int32_t row = h - p->top, is_inside = row >= 0 && row < p->in_h;
        const int32_t width = !is_inside || room < 0 ? 0 : room < p->in_w ? room : p->in_w;
        const int32_t left = width > 0 ? p->left : p->columns, right = p->columns - left - width;
        const int8_t *from = x + row * p->step_h;
        ek_fill_wasm(y, p->zero, left * p->in_c, p->cells, p->flip);
        y += left * p->in_c * size;
        if (p->step_c == 1 && p->step_w == p->in_c)
            ek_prepare_wasm(from, y, width * p->in_c, p->cells, p->flip);
        else
            for (int32_t v = 0; v < width; v++)
                for (int32_t c = 0; c < p->in_c; c++)
                    ek_fill_wasm(y + (v * p->in_c + c) * size, from[v * p->step_w + c * p->step_c], 1,
                        p->cells, p->flip);
        y += width * p->in_c * size;
        ek_fill_wasm(y, p->zero, right * p->in_c, p->cells, p->flip);
        y += right * p->in_c * size;
    }
}

/* Eight outputs of six pixels, whose windows start at x[0] to x[5]; n of the outputs exist, and no pixel of y behind the
 * one with number `last`. */
EK_INLINE void ek_tile_s8_wasm(const uint8_t *const *x, const int8_t *w,
    const struct ek_channels_wasm *channels, const int32_t *m, const int8_t *e, int8_t *y, const int32_t last,
    const int32_t n, const int32_t cells, const int32_t is_signed, const struct ek_lines_s8_wasm *l)
{
    const size_t block = (size_t)(4 * cells);
    v128_t sum[6][2];
#pragma clang loop unroll(full)
    for (int32_t q = 0; q < 6; q++) {
        sum[q][0] = channels[0].bias;
        sum[q][1] = channels[1].bias;
    }
    const int32_t rows = l->rows, chunks = l->chunks, row_step = l->row_step;
    for (int32_t i = 0; i < rows; i++) {
        size_t at = (size_t)(i * row_step);
#pragma clang loop unroll_count(4)
        for (int32_t c = 0; c < chunks; c++, at += 4, w += 2 * block) {
            const v128_t v = ek_weights_wasm(w, cells), u = ek_weights_wasm(w + block, cells);
#pragma clang loop unroll(full)
            for (int32_t q = 0; q < 6; q++) {
                const v128_t t = wasm_v128_load32_splat(x[q] + at);
                sum[q][0] = ek_dot_wasm(sum[q][0], v, t, cells);
                EK_IN_ORDER(sum[q][0])
                sum[q][1] = ek_dot_wasm(sum[q][1], u, t, cells);
                EK_IN_ORDER(sum[q][1])
            }
        }
    }
    v128_t least = wasm_i32x4_splat(EK_UNIT_WASM), z[6];
#pragma clang loop unroll(full)
    for (int32_t q = 0; q < 6; q++) {
        const v128_t low = ek_fixed_wasm(sum[q][0], &channels[0].scales, cells == 4, is_signed, &l->results);
        const v128_t high = ek_fixed_wasm(sum[q][1], &channels[1].scales, cells == 4, is_signed, &l->results);
        least = wasm_u32x4_min(least, wasm_u32x4_min(ek_fraction_wasm(low), ek_fraction_wasm(high)));
        z[q] =
            wasm_i16x8_narrow_i32x4(wasm_i32x4_shr(low, EK_POINT_WASM), wasm_i32x4_shr(high, EK_POINT_WASM));
    }
    if (__builtin_expect(wasm_v128_any_true(wasm_i32x4_lt(least, wasm_i32x4_splat(4))), 0)) {
        int32_t sums[6 * 8];
        for (int32_t q = 0; q < 6; q++) {
            wasm_v128_store(sums + 8 * q, sum[q][0]);
            wasm_v128_store(sums + 8 * q + 4, sum[q][1]);
        }
        ek_exact_wasm(sums, m, e, y, l->outputs, last < 5 ? last + 1 : 6, n, &l->results);
        return;
    }
#pragma clang loop unroll(full)
    for (int32_t q = 0; q < 6; q += 2) {
        v128_t bytes = wasm_u8x16_narrow_i16x8(z[q], z[q + 1]);
        if (cells == 4) {
            bytes = wasm_u8x16_max(bytes, wasm_u8x16_splat((uint8_t)(l->results.lo + 128)));
            bytes = wasm_u8x16_min(bytes, wasm_u8x16_splat((uint8_t)(l->results.hi + 128)));
        }
        bytes = wasm_v128_xor(bytes, wasm_i8x16_splat(-128));
        int8_t *const here = y + (q < last ? q : last) * l->outputs;
        int8_t *const there = y + (q + 1 < last ? q + 1 : last) * l->outputs;
        if (n == 8) {
            wasm_v128_store64_lane(here, bytes, 0);
            wasm_v128_store64_lane(there, bytes, 1);
        } else {
            ek_store_wasm(here, (uint64_t)wasm_i64x2_extract_lane(bytes, 0), n);
            ek_store_wasm(there, (uint64_t)wasm_i64x2_extract_lane(bytes, 1), n);
        }
    }
}

/* All outputs of all pixels, eight at a time of six. The last six pixels may be computed twice in part; where there are
 * less than six, one is computed several times. */
EK_INLINE void ek_lines_s8_wasm(
    const struct ek_lines_s8_wasm *l, const int32_t cells, const int32_t is_signed)
{
    const int32_t pixels = l->lines * l->length, block = l->rows * l->chunks * 8 * cells;
    const int8_t *w = l->w;
    for (int32_t first = 0; first < l->outputs; first += 8, w += block) {
        const int32_t n = l->outputs - first < 8 ? l->outputs - first : 8;
        struct ek_channels_wasm channels[2];
        ek_eight_channels_wasm(channels, w, l->rows * l->chunks, l->b, l->m, l->e, first,
            cells == 4 && !l->is_unsigned, &l->results);
        for (int32_t k = 0, line = 0, column = 0; k < pixels; k += 6) {
            int32_t start = k;
            if (k + 6 > pixels) {
                start = pixels > 6 ? pixels - 6 : 0;
                line = start / l->length;
                column = start - line * l->length;
            }
            const uint8_t *x[6];
            const uint8_t *const first_x = l->x + line * l->line_step + column * l->x_step;
            if (column + 6 <= l->length) {
#pragma clang loop unroll(full)
                for (int32_t q = 0; q < 6; q++)
                    x[q] = first_x + q * l->x_step;
                column += 6;
                if (column == l->length) {
                    column = 0;
                    line++;
                }
            } else
#pragma clang loop unroll(full)
                for (int32_t q = 0; q < 6; q++) {
                    x[q] = l->x + line * l->line_step + column * l->x_step;
                    if (start + q + 1 < pixels)
                        column++;
                    if (column == l->length) {
                        column = 0;
                        line++;
                    }
                }
            ek_tile_s8_wasm(x, w, channels, l->m + first, l->results.kind < 2 ? l->e : l->e + first,
                l->y + start * l->outputs + first, pixels - 1 - start, n, cells, is_signed, l);
        }
    }
}

/* The same where there are few pixels: eight outputs of one, in four sums each, as engines take a while for each. */
EK_INLINE void ek_rows_s8_wasm(const struct ek_lines_s8_wasm *l, const int32_t cells, const int32_t is_signed)
{
    const int32_t block = 8 * cells;
    for (int32_t v = 0; v < l->length; v++) {
        const uint8_t *x = l->x + v * l->x_step;
        const int8_t *w = l->w;
        for (int32_t first = 0; first < l->outputs; first += 8) {
            const int32_t n = l->outputs - first;
            struct ek_channels_wasm channels[2];
            ek_eight_channels_wasm(
                channels, w, l->chunks, l->b, l->m, l->e, first, cells == 4 && !l->is_unsigned, &l->results);
            v128_t sum[4][2];
            for (int32_t k = 0; k < 4; k++)
                for (int32_t o = 0; o < 2; o++)
                    sum[k][o] = k == 0 ? channels[o].bias : wasm_i32x4_splat(0);
            int32_t c = 0;
            for (; c + 4 <= l->chunks; c += 4, w += 4 * block)
#pragma clang loop unroll(full)
                for (size_t k = 0; k < 4; k++) {
                    const v128_t t = wasm_v128_load32_splat(x + 4 * (size_t)c + 4 * k);
                    const v128_t v0 = ek_weights_wasm(w + k * (size_t)block, cells);
                    const v128_t v1 = ek_weights_wasm(w + k * (size_t)block + (size_t)block / 2, cells);
                    sum[k][0] = ek_dot_wasm(sum[k][0], v0, t, cells);
                    sum[k][1] = ek_dot_wasm(sum[k][1], v1, t, cells);
                }
            for (; c < l->chunks; c++, w += block) {
                const v128_t t = wasm_v128_load32_splat(x + 4 * c);
                sum[0][0] = ek_dot_wasm(sum[0][0], ek_weights_wasm(w, cells), t, cells);
                sum[0][1] = ek_dot_wasm(sum[0][1], ek_weights_wasm(w + block / 2, cells), t, cells);
            }
            int32_t sums[8];
            v128_t z[2], least = wasm_i32x4_splat(EK_UNIT_WASM);
            for (int32_t o = 0; o < 2; o++) {
                const v128_t total = wasm_i32x4_add(
                    wasm_i32x4_add(sum[0][o], sum[1][o]), wasm_i32x4_add(sum[2][o], sum[3][o]));
                z[o] = ek_fixed_wasm(total, &channels[o].scales, cells == 4, is_signed, &l->results);
                least = wasm_u32x4_min(least, ek_fraction_wasm(z[o]));
                wasm_v128_store(sums + 4 * o, total);
            }
            ek_finish_wasm(z, least, sums, l, first, l->y + v * l->outputs + first, n < 8 ? n : 8);
        }
    }
}

/* Once for all layers, of each of two kinds: with two cells a step. */
#define EK_TWO_CELLS 2
#define EK_TWO_BYTES 2 /* of a cell */

EK_INLINE int32_t ek_two_unsigned_wasm(void)
{
    return 0;
}

static EK_SHARED void ek_two_plain_wasm(const struct ek_lines_s8_wasm *l)
{
    ek_lines_s8_wasm(l, 2, 0);
}

static EK_SHARED void ek_two_signed_wasm(const struct ek_lines_s8_wasm *l)
{
    ek_lines_s8_wasm(l, 2, 1);
}

static EK_SHARED void ek_two_rows_wasm(const struct ek_lines_s8_wasm *l)
{
    ek_rows_s8_wasm(l, 2, ek_is_signed_wasm(l->results.kind, l->results.zero, l->results.lo));
}

EK_INLINE void ek_two_lines_wasm(const int32_t is_signed, const struct ek_lines_s8_wasm *l)
{
    if (is_signed)
        ek_two_signed_wasm(l);
    else
        ek_two_plain_wasm(l);
}

#ifdef __wasm_relaxed_simd__
/* With four. */
#define EK_FOUR_CELLS 4
#define EK_FOUR_BYTES 1

/* Has this engine unsigned second factors? Where their top bit is set, that is up to it. */
EK_INLINE int32_t ek_four_unsigned_wasm(void)
{
    const v128_t dot = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(
        wasm_i8x16_splat(1), wasm_i8x16_splat(-128), wasm_i32x4_splat(0));
    return wasm_i32x4_extract_lane(dot, 0) > 0;
}

static EK_SHARED void ek_four_plain_wasm(const struct ek_lines_s8_wasm *l)
{
    ek_lines_s8_wasm(l, 4, 0);
}

static EK_SHARED void ek_four_signed_wasm(const struct ek_lines_s8_wasm *l)
{
    ek_lines_s8_wasm(l, 4, 1);
}

static EK_SHARED void ek_four_rows_wasm(const struct ek_lines_s8_wasm *l)
{
    ek_rows_s8_wasm(l, 4, ek_is_signed_wasm(l->results.kind, l->results.zero, l->results.lo));
}

EK_INLINE void ek_four_lines_wasm(const int32_t is_signed, const struct ek_lines_s8_wasm *l)
{
    if (is_signed)
        ek_four_signed_wasm(l);
    else
        ek_four_plain_wasm(l);
}
#endif

#endif
