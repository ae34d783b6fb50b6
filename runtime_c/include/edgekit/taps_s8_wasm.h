/* Depthwise convolutions of int8 in WebAssembly. For each line of results, rows of x are interleaved, so that a product
 * of vectors takes several taps of a column: four with relaxed vectors, else two of 16 bits. Eight channels of three
 * pixels advance together. Weights are tiled O/8! H/4! W I o8 h4, or H/2! and h2. */
#ifndef EDGEKIT_TAPS_S8_WASM_H
#define EDGEKIT_TAPS_S8_WASM_H

#include "edgekit/lines_s8_wasm.h"

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
    if (cells == 2) {
        const v128_t a = wasm_i16x8_extend_low_i8x16(t[0]), b = wasm_i16x8_extend_low_i8x16(t[1]);
        const v128_t c = wasm_i16x8_extend_high_i8x16(t[0]), d = wasm_i16x8_extend_high_i8x16(t[1]);
        wasm_v128_store(y, wasm_i16x8_shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11));
        wasm_v128_store(y + 16, wasm_i16x8_shuffle(a, b, 4, 12, 5, 13, 6, 14, 7, 15));
        wasm_v128_store(y + 32, wasm_i16x8_shuffle(c, d, 0, 8, 1, 9, 2, 10, 3, 11));
        wasm_v128_store(y + 48, wasm_i16x8_shuffle(c, d, 4, 12, 5, 13, 6, 14, 7, 15));
    } else {
        const v128_t a =
            wasm_i8x16_shuffle(t[0], t[1], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        const v128_t b =
            wasm_i8x16_shuffle(t[0], t[1], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
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

/* The first n of sixteen bytes. */
static EK_SHARED EK_SMALL_WASM v128_t ek_some_wasm(const int8_t *x, int32_t n)
{
    int8_t some[16] = {0};
    for (int32_t i = 0; i < n; i++)
        some[i] = x[i];
    return wasm_v128_load(some);
}

/* Up to `cells` rows from `row` on with their borders, interleaved. */
EK_INLINE void ek_interleave_wasm(const struct ek_taps_s8_wasm *p, uint8_t *y, const int32_t row,
    const int32_t rows, const int32_t columns, const int32_t cells)
{
    const int32_t room = columns - p->pad_left, width = room < p->in_w ? room : p->in_w;
    const int32_t size = (width > 0 ? width : 0) * p->channels, left = p->pad_left * p->channels;
    const v128_t flip = wasm_i8x16_splat((int8_t)(p->is_unsigned ? -128 : 0));
    const v128_t zero = wasm_i8x16_splat((int8_t)p->in_zero);
    const v128_t border = cells == 2 ? wasm_i16x8_splat((int16_t)p->in_zero) : wasm_v128_xor(zero, flip);
    int8_t outside[16];
    wasm_v128_store(outside, zero);
    /* Where each row is read; of the border's there are sixteen bytes, again and again. */
    const int8_t *from[4] = {outside, outside, outside, outside};
    int32_t moves[4] = {0, 0, 0, 0};
#pragma clang loop unroll(full)
    for (int32_t i = 0; i < cells; i++) {
        const int32_t at = row + i * p->dilation_h;
        if (i < rows && at >= 0 && at < p->in_h) {
            from[i] = p->x + at * p->in_w * p->channels;
            moves[i] = -1;
        }
    }
    /* A vector too many is overwritten by what follows. */
    const int32_t total = columns * p->channels;
#pragma clang loop unroll(disable)
    for (int32_t i = 0; i < left; i += 4)
        wasm_v128_store(y + 4 * i, border);
#pragma clang loop unroll(disable)
    for (int32_t i = 0; i < size; i += 16) {
        const int32_t at = i + 16 <= size || size < 16 ? i : size - 16;
        v128_t t[4];
#pragma clang loop unroll(full)
        for (int32_t k = 0; k < cells; k++) {
            const int8_t *here = from[k] + (at & moves[k]);
            t[k] = size < 16 && moves[k] ? ek_some_wasm(here, size) : wasm_v128_load(here);
            t[k] = wasm_v128_xor(t[k], flip);
        }
        ek_interleave_sixteen_wasm(y + 4 * (left + at), t, cells);
    }
#pragma clang loop unroll(disable)
    for (int32_t i = left + size; i < total; i += 4)
        wasm_v128_store(y + 4 * i, border);
}

/* What a column of a window adds to eight channels of three pixels. */
EK_INLINE void ek_column_wasm(
    v128_t (*sum)[2], const uint8_t *const *x, const size_t at, const int8_t *w, const int32_t cells)
{
    const v128_t v = ek_weights_wasm(w, cells), u = ek_weights_wasm(w + 4 * cells, cells);
#pragma clang loop unroll(full)
    for (int32_t q = 0; q < 3; q++) {
        sum[q][0] = ek_dot_wasm(sum[q][0], v, wasm_v128_load(x[q] + at), cells);
        EK_IN_ORDER(sum[q][0])
        sum[q][1] = ek_dot_wasm(sum[q][1], u, wasm_v128_load(x[q] + at + 16), cells);
        EK_IN_ORDER(sum[q][1])
    }
}

/* Eight channels of three pixels, the later ones of which are near[0] and near[1] pixels behind the first; groups of rows
 * lie `step` bytes apart, cells of a column `column`, and pixels `pixel`. */
EK_INLINE void ek_three_pixels_wasm(const uint8_t *at_first, int8_t *y, const int8_t *w,
    const struct ek_channels_wasm *channels, const int32_t first, const size_t groups, const size_t step,
    const size_t column, const size_t pixel, const int32_t *near, const int32_t cells,
    const int32_t is_signed, const struct ek_taps_s8_wasm *p)
{
    const uint8_t *const x[3] = {
        at_first, at_first + pixel * (size_t)near[0], at_first + pixel * (size_t)near[1]};
    int8_t *const second = y + near[0] * p->channels, *const third = y + near[1] * p->channels;
    v128_t sum[3][2];
#pragma clang loop unroll(full)
    for (int32_t q = 0; q < 3; q++) {
        sum[q][0] = channels[0].bias;
        sum[q][1] = channels[1].bias;
    }
    const int32_t k_w = p->k_w;
    for (size_t g = 0; g < groups; g++) {
        const size_t at = g * step;
        if (k_w == 3) {
            ek_column_wasm(sum, x, at, w, cells);
            ek_column_wasm(sum, x, at + column, w + 8 * cells, cells);
            ek_column_wasm(sum, x, at + 2 * column, w + 16 * cells, cells);
        } else
            for (int32_t j = 0; j < k_w; j++)
                ek_column_wasm(sum, x, at + (size_t)j * column, w + 8 * cells * j, cells);
        w += 8 * cells * k_w;
    }
    const int32_t n = p->channels - first < 8 ? p->channels - first : 8;
    v128_t least = wasm_i32x4_splat(EK_UNIT_WASM), z[3];
#pragma clang loop unroll(full)
    for (int32_t q = 0; q < 3; q++) {
        const v128_t low = ek_fixed_wasm(sum[q][0], &channels[0].scales, cells == 4, is_signed, &p->results);
        const v128_t high = ek_fixed_wasm(sum[q][1], &channels[1].scales, cells == 4, is_signed, &p->results);
        least = wasm_u32x4_min(least, wasm_u32x4_min(ek_fraction_wasm(low), ek_fraction_wasm(high)));
        z[q] =
            wasm_i16x8_narrow_i32x4(wasm_i32x4_shr(low, EK_POINT_WASM), wasm_i32x4_shr(high, EK_POINT_WASM));
    }
    if (__builtin_expect(wasm_v128_any_true(wasm_i32x4_lt(least, wasm_i32x4_splat(4))), 0)) {
        int32_t sums[3 * 8];
        for (int32_t q = 0; q < 3; q++) {
            wasm_v128_store(sums + 8 * q, sum[q][0]);
            wasm_v128_store(sums + 8 * q + 4, sum[q][1]);
        }
        ek_exact_wasm(sums, p->m + first, p->results.kind < 2 ? p->e : p->e + first, y, p->channels,
            near[1] + 1, n, &p->results);
        return;
    }
    const v128_t lo = wasm_u8x16_splat((uint8_t)(p->results.lo + 128));
    const v128_t hi = wasm_u8x16_splat((uint8_t)(p->results.hi + 128));
    v128_t two = wasm_u8x16_narrow_i16x8(z[0], z[1]), one = wasm_u8x16_narrow_i16x8(z[2], z[2]);
    two = wasm_v128_xor(wasm_u8x16_min(wasm_u8x16_max(two, lo), hi), wasm_i8x16_splat(-128));
    one = wasm_v128_xor(wasm_u8x16_min(wasm_u8x16_max(one, lo), hi), wasm_i8x16_splat(-128));
    if (n == 8) {
        wasm_v128_store64_lane(y, two, 0);
        wasm_v128_store64_lane(second, two, 1);
        wasm_v128_store64_lane(third, one, 0);
    } else {
        ek_store_wasm(y, (uint64_t)wasm_i64x2_extract_lane(two, 0), n);
        ek_store_wasm(second, (uint64_t)wasm_i64x2_extract_lane(two, 1), n);
        ek_store_wasm(third, (uint64_t)wasm_i64x2_extract_lane(one, 0), n);
    }
}

/* All of an image. */
EK_INLINE void ek_taps_s8_wasm(const struct ek_taps_s8_wasm *p, const int32_t cells, const int32_t is_signed)
{
    const size_t groups = (size_t)((p->k_h + cells - 1) / cells), wide = (size_t)p->channels * 4;
    const int32_t columns = (p->out_w - 1) * p->stride_w + (p->k_w - 1) * p->dilation_w + 1;
    const size_t step = (size_t)columns * wide, taps = groups * (size_t)(p->k_w * 8 * cells);
    const size_t pixel = (size_t)p->stride_w * wide;
    const int32_t near[2] = {p->out_w > 1, p->out_w > 2 ? 2 : p->out_w > 1};
    struct ek_channels_wasm *channels = (struct ek_channels_wasm *)(void *)p->scratch;
    uint8_t *lines = p->scratch + ((size_t)p->channels + 7) / 8 * 2 * sizeof *channels;
    for (int32_t c = 0; c < p->channels; c += 8)
        ek_eight_channels_wasm(channels + c / 4, p->w + (size_t)(c / 8) * taps, (int32_t)groups * p->k_w,
            p->b, p->m, p->e, c, cells == 4 && !p->is_unsigned, &p->results);
    for (int32_t h = 0; h < p->out_h; h++) {
        const int32_t row = h * p->stride_h - p->pad_top;
        for (size_t g = 0; g < groups; g++)
            ek_interleave_wasm(p, lines + g * step, row + cells * (int32_t)g * p->dilation_h,
                p->k_h - cells * (int32_t)g, columns, cells);
        for (int32_t c = 0; c < p->channels; c += 8)
            for (int32_t v = 0; v < p->out_w; v += 3) {
                const int32_t at = v + 3 <= p->out_w || p->out_w < 3 ? v : p->out_w - 3;
                ek_three_pixels_wasm(lines + pixel * (size_t)at + 4 * c,
                    p->y + (h * p->out_w + at) * p->channels + c, p->w + (size_t)(c / 8) * taps,
                    channels + c / 4, c, groups, step, (size_t)p->dilation_w * wide, pixel, near, cells,
                    is_signed, p);
            }
    }
}

/* Once for all layers, of each of two kinds: with two taps a step. */
static EK_SHARED void ek_two_plain_taps_wasm(const struct ek_taps_s8_wasm *p)
{
    ek_taps_s8_wasm(p, 2, 0);
}

static EK_SHARED void ek_two_signed_taps_wasm(const struct ek_taps_s8_wasm *p)
{
    ek_taps_s8_wasm(p, 2, 1);
}

EK_INLINE void ek_two_taps_wasm(const int32_t is_signed, const struct ek_taps_s8_wasm *p)
{
    if (is_signed)
        ek_two_signed_taps_wasm(p);
    else
        ek_two_plain_taps_wasm(p);
}

#ifdef __wasm_relaxed_simd__
/* With four. */
static EK_SHARED void ek_four_plain_taps_wasm(const struct ek_taps_s8_wasm *p)
{
    ek_taps_s8_wasm(p, 4, 0);
}

static EK_SHARED void ek_four_signed_taps_wasm(const struct ek_taps_s8_wasm *p)
{
    ek_taps_s8_wasm(p, 4, 1);
}

EK_INLINE void ek_four_taps_wasm(const int32_t is_signed, const struct ek_taps_s8_wasm *p)
{
    if (is_signed)
        ek_four_signed_taps_wasm(p);
    else
        ek_four_plain_taps_wasm(p);
}
#endif

#endif
