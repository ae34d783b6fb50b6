/* Convolutions of int8 with windows of 3 by 3 cells, four by four results at a time: Winograd's algorithm in integers.
 *
 * A tile of 6 by 6 cells and a window are polynomials. Both are evaluated at 0, 1, -1, 2, -2 and infinity, in both
 * directions; products of values at 36 points are summed over channels, and 16 results follow from these: 36
 * multiplications where windows take 144. Factors that would be fractions are left out, so that all values are integers,
 * of 16 bits before the products: at most 12,800 for cells and 6,272 for weights. What comes out are 576 times the sums,
 * modulo 2^32: exact for sums below 2^25, which are 1/64 of the product with the inverse of 9. */
#ifndef EDGEKIT_WINOGRAD_S8_WASM_H
#define EDGEKIT_WINOGRAD_S8_WASM_H

#include "edgekit/simd/wasm/pixel_rows_s8_wasm.h"

#define EK_POINTS_WASM 36
#define EK_APART_WASM                                                                                        \
    32 /* numbers between points: caches are slow where many lines lie powers of two apart */
#define EK_NINTH_WASM 954437177 /* modulo 2^32 */

/* A layer, and an image with its borders, of 16 bits. */
struct ek_points_s8_wasm {
    const int16_t *x;
    const int8_t *w;
    const int32_t *b;
    const int32_t *m;
    const int8_t *e;
    int8_t *y;
    int16_t *cells; /* points of tiles, [point][tile][channel] */
    int16_t *weights; /* of eight outputs, [point][pair of channels][output][two channels] */
    int32_t *products; /* of six tiles, [point][tile][output] */
    int32_t *sums; /* of all pixels, [row][column][output] */
    int32_t channels;
    int32_t outputs;
    int32_t out_h;
    int32_t out_w;
    int32_t down; /* tiles */
    int32_t across;
    struct ek_results_wasm results;
};

/* Cells in a row, at six points. */
EK_INLINE void ek_points_of_cells_wasm(v128_t *d)
{
    const v128_t even = wasm_i16x8_sub(d[4], d[2]), odd = wasm_i16x8_shl(wasm_i16x8_sub(d[3], d[1]), 1);
    const v128_t a = wasm_i16x8_sub(d[4], wasm_i16x8_shl(d[2], 2));
    const v128_t b = wasm_i16x8_sub(d[3], wasm_i16x8_shl(d[1], 2));
    const v128_t first = wasm_i16x8_add(wasm_i16x8_shl(wasm_i16x8_sub(d[0], d[2]), 2), even);
    const v128_t last = wasm_i16x8_sub(wasm_i16x8_sub(d[5], d[3]), wasm_i16x8_shl(odd, 1));
    d[0] = first;
    d[1] = wasm_i16x8_add(a, b);
    d[2] = wasm_i16x8_sub(a, b);
    d[3] = wasm_i16x8_add(even, odd);
    d[4] = wasm_i16x8_sub(even, odd);
    d[5] = last;
}

/* Three weights in a row, at six points. */
EK_INLINE void ek_points_of_weights_wasm(v128_t *g)
{
    const v128_t ends = wasm_i16x8_add(g[0], g[2]), middle = g[1], last = g[2];
    const v128_t far = wasm_i16x8_add(g[0], wasm_i16x8_shl(last, 2)), twice = wasm_i16x8_shl(middle, 1);
    g[1] = wasm_i16x8_neg(wasm_i16x8_add(ends, middle));
    g[2] = wasm_i16x8_sub(middle, ends);
    g[3] = wasm_i16x8_add(far, twice);
    g[4] = wasm_i16x8_sub(far, twice);
    g[5] = last;
}

/* Four results in a row, 24 times, from products at six points. */
EK_INLINE void ek_results_of_points_wasm(v128_t *p)
{
    const v128_t near = wasm_i32x4_shl(wasm_i32x4_add(p[1], p[2]), 2);
    const v128_t across_near = wasm_i32x4_shl(wasm_i32x4_sub(p[1], p[2]), 2);
    const v128_t far = wasm_i32x4_add(p[3], p[4]), across_far = wasm_i32x4_sub(p[3], p[4]);
    const v128_t first = wasm_i32x4_add(wasm_i32x4_shl(p[0], 2), wasm_i32x4_shl(p[0], 1));
    const v128_t last = wasm_i32x4_add(wasm_i32x4_shl(p[5], 4), wasm_i32x4_shl(p[5], 3));
    p[0] = wasm_i32x4_add(first, wasm_i32x4_add(near, far));
    p[1] = wasm_i32x4_add(across_near, wasm_i32x4_shl(across_far, 1));
    p[2] = wasm_i32x4_add(near, wasm_i32x4_shl(far, 2));
    p[3] = wasm_i32x4_add(wasm_i32x4_add(across_near, wasm_i32x4_shl(across_far, 3)), last);
}

/* All tiles of an image at all points. */
EK_INLINE void ek_cells_at_points_wasm(const struct ek_points_s8_wasm *p)
{
    const int32_t row = (4 * p->across + 2) * p->channels,
                  all = p->down * p->across * p->channels + EK_APART_WASM;
    int16_t *to = p->cells;
    for (int32_t i = 0; i < p->down; i++)
        for (int32_t j = 0; j < p->across; j++)
            for (int32_t c = 0; c < p->channels; c += 8, to += 8) {
                const int16_t *from = p->x + 4 * i * row + 4 * j * p->channels + c;
                v128_t some[6][6];
                EK_ROLLED_FOR(int32_t k = 0; k < 6; k++, from += row) {
                    v128_t d[6];
                    for (int32_t n = 0; n < 6; n++)
                        d[n] = wasm_v128_load(from + n * p->channels);
                    ek_points_of_cells_wasm(d);
                    for (int32_t n = 0; n < 6; n++)
                        some[k][n] = d[n];
                }
                int16_t *here = to;
                EK_ROLLED_FOR(int32_t k = 0; k < 6; k++, here += all) {
                    v128_t d[6];
                    for (int32_t n = 0; n < 6; n++)
                        d[n] = some[n][k];
                    ek_points_of_cells_wasm(d);
                    for (int32_t n = 0; n < 6; n++)
                        wasm_v128_store(here + 6 * n * all, d[n]);
                }
            }
}

/* The weights of eight outputs at all points. */
EK_INLINE void ek_weights_at_points_wasm(const int8_t *w, int16_t *to, const int32_t channels)
{
    const int32_t all = channels * 8 + EK_APART_WASM;
    for (int32_t c = 0; c < channels; c += 2, w += 9 * 16)
        for (int32_t half = 0; half < 2; half++, to += 8) {
            v128_t some[3][6];
            EK_ROLLED_FOR(int32_t k = 0; k < 3; k++) {
                v128_t g[6];
                for (int32_t n = 0; n < 3; n++)
                    g[n] = wasm_i16x8_load8x8(w + (3 * k + n) * 16 + 8 * half);
                ek_points_of_weights_wasm(g);
                for (int32_t n = 0; n < 6; n++)
                    some[k][n] = g[n];
            }
            int16_t *here = to;
            EK_ROLLED_FOR(int32_t k = 0; k < 6; k++, here += all) {
                v128_t g[6] = {some[0][k], some[1][k], some[2][k]};
                ek_points_of_weights_wasm(g);
                for (int32_t n = 0; n < 6; n++)
                    wasm_v128_store(here + 6 * n * all, g[n]);
            }
        }
}

/* Products of six tiles with eight outputs at a point, whose tiles start at x[0] to x[5]. */
EK_INLINE void ek_six_tiles_wasm(
    int32_t *sums, const uint8_t *const *x, const int16_t *w, const int32_t channels)
{
    v128_t sum[6][2];
    const uint8_t *here[6];
    EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++) {
        sum[q][0] = sum[q][1] = wasm_i32x4_splat(0);
        here[q] = x[q];
    }
    for (int32_t c = 0; c < channels; c += 4, w += 32) {
        ek_step_wasm(sum, here, 0, wasm_v128_load(w), wasm_v128_load(w + 8), 2);
        ek_step_wasm(sum, here, 4, wasm_v128_load(w + 16), wasm_v128_load(w + 24), 2);
        EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++)
            here[q] += 8;
    }
    EK_UNROLLED_FOR(32, int32_t q = 0; q < 6; q++) {
        wasm_v128_store(sums + 8 * q, sum[q][0]);
        wasm_v128_store(sums + 8 * q + 4, sum[q][1]);
    }
}

/* Four outputs of a tile: from products to sums, a line of which has `line` numbers. */
EK_INLINE void ek_sums_of_tile_wasm(
    const int32_t *products, const v128_t bias, int32_t *sums, const int32_t line)
{
    v128_t some[6][4];
    EK_ROLLED_FOR(int32_t k = 0; k < 6; k++, products += 6 * 48) {
        v128_t d[6];
        for (int32_t n = 0; n < 6; n++)
            d[n] = wasm_v128_load(products + 48 * n);
        ek_results_of_points_wasm(d);
        for (int32_t n = 0; n < 4; n++)
            some[k][n] = d[n];
    }
    EK_ROLLED_FOR(int32_t k = 0; k < 4; k++, sums += 8) {
        v128_t d[6];
        for (int32_t n = 0; n < 6; n++)
            d[n] = some[n][k];
        ek_results_of_points_wasm(d);
        for (int32_t n = 0; n < 4; n++) {
            const v128_t whole = wasm_i32x4_mul(d[n], wasm_i32x4_splat(EK_NINTH_WASM));
            wasm_v128_store(sums + n * line, wasm_i32x4_add(wasm_i32x4_shr(whole, 6), bias));
        }
    }
}

/* All of an image. Once for all layers. */
static EK_SHARED void ek_points_s8_wasm(const struct ek_points_s8_wasm *p)
{
    const int32_t tiles = p->down * p->across, line = 4 * p->across * 8;
    ek_cells_at_points_wasm(p);
    const int8_t *w = p->w;
    for (int32_t first = 0; first < p->outputs; first += 8, w += p->channels * 9 * 8) {
        struct ek_outputs_wasm outputs;
        ek_outputs_wasm(&outputs, w, 0, p->b, p->m, p->e, first, p->outputs, 0, &p->results);
        ek_weights_at_points_wasm(w, p->weights, p->channels);
        for (int32_t t = 0; t < tiles; t += 6) {
            const uint8_t *x[6];
            for (int32_t q = 0; q < 6; q++)
                x[q] = (const uint8_t *)(p->cells + (t + q < tiles ? t + q : tiles - 1) * p->channels);
            for (int32_t k = 0; k < EK_POINTS_WASM; k++) {
                ek_six_tiles_wasm(
                    p->products + 48 * k, x, p->weights + k * (p->channels * 8 + EK_APART_WASM), p->channels);
                for (int32_t q = 0; q < 6; q++)
                    x[q] += 2 * (tiles * p->channels + EK_APART_WASM);
            }
            for (int32_t q = 0; q < 6 && t + q < tiles; q++) {
                const int32_t i = (t + q) / p->across, j = (t + q) % p->across;
                for (int32_t half = 0; half < 2; half++)
                    ek_sums_of_tile_wasm(p->products + 8 * q + 4 * half, outputs.bias[half],
                        p->sums + 4 * i * line + 32 * j + 4 * half, line);
            }
        }
        for (int32_t h = 0; h < p->out_h; h++)
            ek_finish_wasm(p->sums + h * line, p->y + h * p->out_w * p->outputs + first, p->out_w, &outputs,
                &p->results);
    }
}

#endif
