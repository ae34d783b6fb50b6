/* Lines of pixels whose windows are whole: sums of products of int8, six pixels and eight outputs at a time.
 * With relaxed vectors a step takes four cells, bytes of x with the top bit flipped where the engine has unsigned ones;
 * else two cells, which are widened to 16 bits. Weights are tiled O/4! H WI/4! o4 wi4, or WI/2! and wi2. */
#ifndef EDGEKIT_PIXEL_ROWS_S8_WASM_H
#define EDGEKIT_PIXEL_ROWS_S8_WASM_H

#include "edgekit/simd/wasm/relaxed_products_wasm.h"
#include "edgekit/simd/wasm/requantize_s8_wasm.h"

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

/* An image, and how much of it and of what is around it becomes one of whole windows. */
struct ek_image_s8_wasm {
    int32_t in_h;
    int32_t in_w;
    int32_t in_c;
    int32_t step_h; /* elements of x from row to row, and from column to column */
    int32_t step_w;
    int32_t step_c;
    int32_t top; /* rows and columns of the border */
    int32_t left;
    int32_t rows;
    int32_t columns;
    int32_t zero; /* what the border holds */
    int32_t flip;
};

/* Copies an image with its border. */
EK_INLINE void ek_bordered_wasm(
    const int8_t *x, uint8_t *y, const int32_t cells, const struct ek_image_s8_wasm *p)
{
    const int32_t size = cells == 4 ? 1 : 2, room = p->columns - p->left;
    for (int32_t h = 0; h < p->rows; h++) {
        const int32_t row = h - p->top, is_inside = row >= 0 && row < p->in_h;
        const int32_t width = !is_inside || room < 0 ? 0 : room < p->in_w ? room : p->in_w;
        const int32_t left = width > 0 ? p->left : p->columns, right = p->columns - left - width;
        const int8_t *from = x + row * p->step_h;
        ek_fill_wasm(y, p->zero, left * p->in_c, cells, p->flip);
        y += left * p->in_c * size;
        if (p->step_c == 1 && p->step_w == p->in_c)
            ek_prepare_wasm(from, y, width * p->in_c, cells, p->flip);
        else
            for (int32_t v = 0; v < width; v++)
                for (int32_t c = 0; c < p->in_c; c++)
                    ek_fill_wasm(
                        y + (v * p->in_c + c) * size, from[v * p->step_w + c * p->step_c], 1, cells, p->flip);
        y += width * p->in_c * size;
        ek_fill_wasm(y, p->zero, right * p->in_c, cells, p->flip);
        y += right * p->in_c * size;
    }
}

/* What a step adds to eight outputs of six pixels: products of their weights with cells that lie `at` bytes behind x[0] to
 * x[5]. */
EK_INLINE void ek_step_wasm(v128_t (*sum)[2], const uint8_t *const *x, const size_t at, const v128_t v,
    const v128_t u, const int32_t cells)
{
    EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++) {
        const v128_t t = wasm_v128_load32_splat(x[q] + at);
        sum[q][0] = ek_dot_wasm(sum[q][0], v, t, cells);
        EK_IN_ORDER(sum[q][0])
        sum[q][1] = ek_dot_wasm(sum[q][1], u, t, cells);
        EK_IN_ORDER(sum[q][1])
    }
}

/* Sums of eight outputs of six pixels, whose windows start at x[0] to x[5]. */
EK_INLINE void ek_six_pixels_wasm(int32_t *sums, const uint8_t *const *x, const int8_t *w,
    const struct ek_outputs_wasm *outputs, const int32_t cells, const struct ek_lines_s8_wasm *l)
{
    const uint8_t *here[6];
    v128_t sum[6][2];
    EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++) {
        here[q] = x[q];
        sum[q][0] = outputs->bias[0];
        sum[q][1] = outputs->bias[1];
    }
    const int32_t chunks = l->chunks, back = l->row_step - 4 * chunks;
    for (int32_t i = l->rows; i > 0; i--) {
        /* Two steps at a time: addresses advance once for both. */
        for (int32_t c = chunks / 2; c > 0; c--, w += 16 * cells) {
            ek_step_wasm(
                sum, here, 0, ek_weights_wasm(w, cells), ek_weights_wasm(w + 4 * cells, cells), cells);
            ek_step_wasm(sum, here, 4, ek_weights_wasm(w + 8 * cells, cells),
                ek_weights_wasm(w + 12 * cells, cells), cells);
            EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++)
                here[q] += 8;
        }
        if (chunks % 2) {
            ek_step_wasm(
                sum, here, 0, ek_weights_wasm(w, cells), ek_weights_wasm(w + 4 * cells, cells), cells);
            w += 8 * cells;
            EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++)
                here[q] += 4;
        }
        EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++)
            here[q] += back;
    }
    EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++) {
        wasm_v128_store(sums + 8 * q, sum[q][0]);
        wasm_v128_store(sums + 8 * q + 4, sum[q][1]);
    }
}

/* All outputs of all pixels, eight at a time of six. The last six pixels may be computed twice in part; where there are
 * less than six, one is computed several times. */
EK_INLINE void ek_lines_s8_wasm(const struct ek_lines_s8_wasm *l, const int32_t cells)
{
    const int32_t pixels = l->lines * l->length, steps = l->rows * l->chunks;
    const int8_t *w = l->w;
    for (int32_t first = 0; first < l->outputs; first += 8, w += steps * 8 * cells) {
        struct ek_outputs_wasm outputs;
        int32_t sums[8 * EK_HELD_WASM];
        ek_outputs_wasm(&outputs, w, steps, l->b, l->m, l->e, first, l->outputs,
            cells == 4 && !l->is_unsigned, &l->results);
        for (int32_t k = 0, from = 0, line = 0, column = 0; k < pixels; k += 6) {
            int32_t start = k;
            if (k + 6 > pixels) {
                start = pixels > 6 ? pixels - 6 : 0;
                line = start / l->length;
                column = start - line * l->length;
            }
            const uint8_t *x[6];
            const uint8_t *const first_x = l->x + line * l->line_step + column * l->x_step;
            if (column + 6 <= l->length) {
                EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++)
                    x[q] = first_x + q * l->x_step;
                column += 6;
                if (column == l->length) {
                    column = 0;
                    line++;
                }
            } else
                for (int32_t q = 0; q < 6; q++) {
                    x[q] = l->x + line * l->line_step + column * l->x_step;
                    if (start + q + 1 < pixels)
                        column++;
                    if (column == l->length) {
                        column = 0;
                        line++;
                    }
                }
            if (start < from)
                from = start;
            ek_six_pixels_wasm(sums + 8 * (start - from), x, w, &outputs, cells, l);
            if (start - from + 6 == EK_HELD_WASM || k + 6 >= pixels) {
                const int32_t end = start + 6 < pixels ? start + 6 : pixels;
                ek_finish_wasm(sums, l->y + from * l->outputs + first, end - from, &outputs, &l->results);
                from = end;
            }
        }
    }
}

/* The same where there are few pixels: eight outputs of one, in four sums each, as engines take a while for each. Outputs of
 * one scale are like pixels of eight outputs. */
EK_INLINE void ek_rows_s8_wasm(const struct ek_lines_s8_wasm *l, const int32_t cells)
{
    const int32_t block = 8 * cells, is_shifted = cells == 4 && !l->is_unsigned;
    for (int32_t v = 0; v < l->length; v++) {
        const uint8_t *x = l->x + v * l->x_step;
        const int8_t *w = l->w;
        struct ek_outputs_wasm outputs;
        int32_t sums[8 * EK_HELD_WASM], held = 0;
        for (int32_t first = 0; first < l->outputs; first += 8) {
            v128_t sum[4][2], bias[2];
            if (held == 0) {
                ek_outputs_wasm(&outputs, w, 0, l->b, l->m, l->e, first, l->outputs, 0, &l->results);
                if (!l->results.each)
                    outputs.step = 8;
            }
            ek_biases_wasm(bias, w, l->chunks, l->b + first, is_shifted);
            for (int32_t k = 0; k < 4; k++)
                for (int32_t o = 0; o < 2; o++)
                    sum[k][o] = k == 0 ? bias[o] : wasm_i32x4_splat(0);
            int32_t c = 0;
            for (; c + 4 <= l->chunks; c += 4, w += 4 * block)
                EK_UNROLLED_FOR(32, size_t k = 0; k < 4; k++) {
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
            for (int32_t o = 0; o < 2; o++)
                wasm_v128_store(sums + 8 * held + 4 * o, wasm_i32x4_add(wasm_i32x4_add(sum[0][o], sum[1][o]),
                                                             wasm_i32x4_add(sum[2][o], sum[3][o])));
            held++;
            /* The last outputs may be less than eight: these are alone. */
            const int32_t left = l->outputs - first - 8;
            if (l->results.each || left < 8 || held == EK_HELD_WASM) {
                ek_finish_wasm(
                    sums, l->y + v * l->outputs + first - 8 * (held - 1), held, &outputs, &l->results);
                held = 0;
            }
        }
    }
}

/* Once for all layers: with two cells a step. */
#define EK_TWO_CELLS 2
#define EK_TWO_BYTES 2 /* of a cell */

EK_INLINE int32_t ek_two_unsigned_wasm(void)
{
    return 0;
}

static EK_SHARED EK_SMALL_WASM void ek_two_bordered_wasm(
    const int8_t *x, uint8_t *y, const struct ek_image_s8_wasm *p)
{
    ek_bordered_wasm(x, y, 2, p);
}

static EK_SHARED void ek_two_lines_wasm(const struct ek_lines_s8_wasm *l)
{
    ek_lines_s8_wasm(l, 2);
}

static EK_SHARED void ek_two_rows_wasm(const struct ek_lines_s8_wasm *l)
{
    ek_rows_s8_wasm(l, 2);
}

#ifdef __wasm_relaxed_simd__
/* With four. */
#define EK_FOUR_CELLS 4
#define EK_FOUR_BYTES 1

static EK_SHARED EK_SMALL_WASM void ek_four_bordered_wasm(
    const int8_t *x, uint8_t *y, const struct ek_image_s8_wasm *p)
{
    ek_bordered_wasm(x, y, 4, p);
}

static EK_SHARED void ek_four_lines_wasm(const struct ek_lines_s8_wasm *l)
{
    ek_lines_s8_wasm(l, 4);
}

static EK_SHARED void ek_four_rows_wasm(const struct ek_lines_s8_wasm *l)
{
    ek_rows_s8_wasm(l, 4);
}
#endif

#endif
