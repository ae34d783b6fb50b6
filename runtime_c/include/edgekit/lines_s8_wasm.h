/* Lines of pixels whose windows are whole: sums of products of int8, four pixels and eight outputs at a time.
 * With relaxed vectors a step takes four cells, bytes of x with the top bit flipped where the engine has unsigned ones;
 * else two cells, which are widened to 16 bits. Weights are tiled O/4! H WI/4! o4 wi4, or WI/2! and wi2. */
#ifndef EDGEKIT_LINES_S8_WASM_H
#define EDGEKIT_LINES_S8_WASM_H

#include "edgekit/fixed_wasm.h"

/* A window of `rows` runs of x, each of `chunks` steps; `cells` of a step is 4 or 2. */
struct ek_window_s8_wasm {
    int32_t cells;
    int32_t rows;
    int32_t chunks;
    int32_t row_step; /* bytes of x */
    int32_t outputs;
    struct ek_results_wasm results;
};

#ifdef __wasm_relaxed_simd__
/* Has this engine unsigned second factors? Where their top bit is set, that is up to it. */
EK_INLINE int32_t ek_is_unsigned_wasm(void)
{
    const v128_t dot = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(
        wasm_i8x16_splat(1), wasm_i8x16_splat(-128), wasm_i32x4_splat(0));
    return wasm_i32x4_extract_lane(dot, 0) > 0;
}
#endif

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

/* `pixels` (4 or 1) times `blocks` (2 or 1) of four outputs; n of them exist. */
EK_INLINE void ek_tile_s8_wasm(const uint8_t *x, const int8_t *w, const int32_t block, const v128_t *bias,
    const struct ek_scales_wasm *scales, const int32_t *m, const int8_t *e, int8_t *y, const int32_t x_step,
    const int32_t y_step, const int32_t pixels, const int32_t blocks, const int32_t n,
    const struct ek_window_s8_wasm *s)
{
    v128_t sum[4][2];
#pragma clang loop unroll(full)
    for (int32_t q = 0; q < pixels; q++)
#pragma clang loop unroll(full)
        for (int32_t o = 0; o < blocks; o++)
            sum[q][o] = bias[o];
    for (int32_t i = 0; i < s->rows; i++) {
        const uint8_t *from = x + i * s->row_step;
        for (int32_t c = 0; c < s->chunks; c++, from += 4, w += 4 * s->cells) {
            v128_t v[2];
#pragma clang loop unroll(full)
            for (int32_t o = 0; o < blocks; o++)
                v[o] = ek_weights_wasm(w + o * block, s->cells);
#pragma clang loop unroll(full)
            for (int32_t q = 0; q < pixels; q++) {
                const v128_t t = wasm_v128_load32_splat(from + q * x_step);
#pragma clang loop unroll(full)
                for (int32_t o = 0; o < blocks; o++)
                    sum[q][o] = ek_dot_wasm(sum[q][o], v[o], t, s->cells);
            }
        }
    }
    v128_t least = wasm_i32x4_splat(EK_UNIT_WASM), z[4];
#pragma clang loop unroll(full)
    for (int32_t q = 0; q < pixels; q++) {
        v128_t whole[2];
#pragma clang loop unroll(full)
        for (int32_t o = 0; o < blocks; o++) {
            const v128_t scaled = ek_scaled_wasm(sum[q][o], scales + o, &s->results);
#ifdef __wasm_relaxed_simd__
            const v128_t fixed = s->cells == 4 ? wasm_i32x4_relaxed_trunc_f32x4(scaled)
                                               : ek_clamped_wasm(scaled, &s->results);
#else
            const v128_t fixed = ek_clamped_wasm(scaled, &s->results);
#endif
            least = wasm_u32x4_min(least, wasm_v128_and(fixed, wasm_i32x4_splat(EK_UNIT_WASM - 1)));
            whole[o] = wasm_i32x4_shr(fixed, EK_POINT_WASM);
        }
        z[q] = wasm_i16x8_narrow_i32x4(whole[0], whole[blocks - 1]);
    }
    if (__builtin_expect(wasm_v128_any_true(wasm_i32x4_lt(least, wasm_i32x4_splat(4))), 0)) {
        int32_t sums[4 * 8];
        for (int32_t q = 0; q < pixels; q++)
            for (int32_t o = 0; o < blocks; o++)
                wasm_v128_store(sums + 8 * q + 4 * o, sum[q][o]);
        ek_exact_wasm(sums, m, e, y, y_step, pixels, n, &s->results);
        return;
    }
#pragma clang loop unroll(full)
    for (int32_t q = 0; q < pixels; q += 2) {
        v128_t bytes = wasm_u8x16_narrow_i16x8(z[q], z[q + 1 < pixels ? q + 1 : q]);
        if (s->cells == 4 && s->results.lo > -128)
            bytes = wasm_u8x16_max(bytes, wasm_u8x16_splat((uint8_t)(s->results.lo + 128)));
        if (s->cells == 4 && s->results.hi < 127)
            bytes = wasm_u8x16_min(bytes, wasm_u8x16_splat((uint8_t)(s->results.hi + 128)));
        bytes = wasm_v128_xor(bytes, wasm_i8x16_splat(-128));
        ek_store_wasm(y + q * y_step, (uint64_t)wasm_i64x2_extract_lane(bytes, 0), n);
        if (q + 1 < pixels)
            ek_store_wasm(y + (q + 1) * y_step, (uint64_t)wasm_i64x2_extract_lane(bytes, 1), n);
    }
}

/* One or two blocks of outputs of all lines, from output `first` on. */
EK_INLINE void ek_outputs_s8_wasm(const uint8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, const int32_t lines, const int32_t line_step, const int32_t x_step,
    const int32_t length, const int32_t first, const int32_t blocks, const int32_t flip,
    const struct ek_window_s8_wasm *s)
{
    const int32_t block = s->rows * s->chunks * 4 * s->cells, rest = s->outputs - first;
    const int32_t n = rest < 4 * blocks ? rest : 4 * blocks;
    const int8_t *weights = w + first / 4 * block;
    const int8_t *exponents = s->results.kind < 2 ? e : e + first;
    v128_t bias[2];
    struct ek_scales_wasm scales[2];
    for (int32_t o = 0; o < blocks; o++) {
        bias[o] = wasm_v128_load(b + first + 4 * o);
#ifdef __wasm_relaxed_simd__
        /* Biases are for unsigned cells: others are 128 less. */
        if (s->cells == 4 && !flip)
            for (int32_t i = 0; i < block; i += 16) {
                const v128_t some = wasm_v128_load(weights + o * block + i);
                bias[o] = ek_dot_wasm(bias[o], some, wasm_i8x16_splat(64), 4);
                bias[o] = ek_dot_wasm(bias[o], some, wasm_i8x16_splat(64), 4);
            }
#endif
        scales[o] = ek_scales_wasm(m, e, first + 4 * o, &s->results);
    }
    for (int32_t l = 0; l < lines; l++) {
        const uint8_t *from = x + l * line_step;
        int8_t *to = y + l * length * s->outputs + first;
        int32_t v = 0;
        for (; v + 4 <= length; v += 4)
            ek_tile_s8_wasm(from + v * x_step, weights, block, bias, scales, m + first, exponents,
                to + v * s->outputs, x_step, s->outputs, 4, blocks, n, s);
        for (; v < length; v++)
            ek_tile_s8_wasm(from + v * x_step, weights, block, bias, scales, m + first, exponents,
                to + v * s->outputs, x_step, s->outputs, 1, blocks, n, s);
    }
}

/* All outputs of `lines` lines of `length` pixels, which lie behind each other in y. */
EK_INLINE void ek_lines_s8_wasm(const uint8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, const int32_t lines, const int32_t line_step, const int32_t x_step,
    const int32_t length, const int32_t flip, const struct ek_window_s8_wasm *s)
{
    int32_t first = 0;
    for (; first + 4 < s->outputs; first += 8)
        ek_outputs_s8_wasm(x, w, b, m, e, y, lines, line_step, x_step, length, first, 2, flip, s);
    if (first < s->outputs)
        ek_outputs_s8_wasm(x, w, b, m, e, y, lines, line_step, x_step, length, first, 1, flip, s);
}

#endif
