/* Rows of int8 with relaxed vectors, exact in every engine: where an engine adds two products in 16 bits, weights are such
 * that this fits, and where they say so, sums of two steps do, too. What they have too much
 * comes in a sum of its own. */
#ifndef EDGEKIT_OVERFLOW_SAFE_S8_WASM_H
#define EDGEKIT_OVERFLOW_SAFE_S8_WASM_H

#include "edgekit/simd/wasm/pixel_rows_s8_wasm.h"

/* Does this engine add two products in 16 bits, and stop at their ends? Its cells are unsigned then. */
EK_INLINE int32_t ek_light_narrow_wasm(void)
{
    const v128_t dot = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(
        wasm_i8x16_splat(127), wasm_i8x16_splat(-1), wasm_i32x4_splat(0));
    return wasm_i32x4_extract_lane(dot, 0) % 508 != 0; /* four times 127 times -1, or 255 */
}

/* Cells of a row, and weights for them of two times eight outputs. */
struct ek_light_wasm {
    const uint8_t *x;
    const uint8_t *end;
    const int8_t *w[2];
};

EK_INLINE void ek_light_go_wasm(struct ek_light_wasm *at, const size_t steps)
{
    at->x += 4 * steps;
    at->w[0] += 32 * steps;
    at->w[1] += 32 * steps;
}

/* Products of step k with half of the outputs of a group. */
#define EK_LIGHT_CELLS_WASM(at, k) wasm_v128_load32_splat((at)->x + 4 * (k))
#define EK_LIGHT_WEIGHTS_WASM(at, k, o) wasm_v128_load((at)->w[(o) / 2] + 32 * (k) + 16 * ((o) % 2))

/* Adds all products there are for so many steps at a time, whose sums stay narrow. */
EK_INLINE void ek_light_narrow_sums_wasm(
    v128_t *sum, struct ek_light_wasm *at, const v128_t one, const size_t steps)
{
    for (; at->x + 4 * steps <= at->end; ek_light_go_wasm(at, steps)) {
        v128_t some[4];
        EK_UNROLLED_FOR(32, size_t k = 0; k < steps; k++) {
            const v128_t x = EK_LIGHT_CELLS_WASM(at, k);
            EK_UNROLLED_FOR(32, size_t o = 0; o < 4; o++) {
                const v128_t two = wasm_i16x8_relaxed_dot_i8x16_i7x16(EK_LIGHT_WEIGHTS_WASM(at, k, o), x);
                some[o] = k ? wasm_i16x8_add(some[o], two) : two;
            }
        }
        EK_UNROLLED_FOR(32, size_t o = 0; o < 4; o++)
            sum[o] = wasm_i32x4_add(sum[o], wasm_i32x4_dot_i16x8(some[o], one));
    }
}

/* The same in engines that add four products at once; every second step has sums of its own, as they take a while. */
EK_INLINE void ek_light_wide_sums_wasm(v128_t *sum, struct ek_light_wasm *at)
{
    v128_t more[4];
    EK_UNROLLED_FOR(32, size_t o = 0; o < 4; o++)
        more[o] = wasm_i32x4_splat(0);
    for (; at->x + 8 <= at->end; ek_light_go_wasm(at, 2))
        EK_UNROLLED_FOR(32, size_t o = 0; o < 4; o++) {
            sum[o] = ek_dot_wasm(sum[o], EK_LIGHT_WEIGHTS_WASM(at, 0, o), EK_LIGHT_CELLS_WASM(at, 0), 4);
            more[o] = ek_dot_wasm(more[o], EK_LIGHT_WEIGHTS_WASM(at, 1, o), EK_LIGHT_CELLS_WASM(at, 1), 4);
        }
    EK_UNROLLED_FOR(32, size_t o = 0; o < 4; o++) {
        sum[o] = wasm_i32x4_add(sum[o], more[o]);
        if (at->x < at->end)
            sum[o] = ek_dot_wasm(sum[o], EK_LIGHT_WEIGHTS_WASM(at, 0, o), EK_LIGHT_CELLS_WASM(at, 0), 4);
    }
}

/* Where the next weights of a row are, and what is said of them. */
struct ek_light_weights_wasm {
    const int32_t *word;
    const int8_t *w;
};

/* Sums of outputs from `first` to `end`, two times eight at a time; where no more than eight are left, these twice. */
EK_INLINE void ek_light_sums_wasm(int32_t *sums, const uint8_t *x, struct ek_light_weights_wasm *from,
    const int32_t first, const int32_t end, const struct ek_lines_s8_wasm *l, const int32_t is_narrow)
{
    v128_t one = wasm_i16x8_splat(1);
    EK_IN_ORDER(one)
    for (int32_t o = first; o < end; o += 16, sums += 16) {
        const int32_t other = o + 8 < end ? 8 : 0, size = 4 * l->chunks;
        struct ek_light_wasm at = {x, x + size, {from->w, from->w + other * size}};
        v128_t sum[4];
        ek_biases_wasm(sum, at.w[0], l->chunks, l->b + o, !is_narrow && !l->is_unsigned);
        ek_biases_wasm(sum + 2, at.w[1], l->chunks, l->b + o + other, !is_narrow && !l->is_unsigned);
        if (is_narrow) {
            if (*from->word & 1)
                ek_light_narrow_sums_wasm(sum, &at, one, 2);
            ek_light_narrow_sums_wasm(sum, &at, one, 1);
        } else
            ek_light_wide_sums_wasm(sum, &at);
        wasm_v128_store(sums, sum[0]);
        wasm_v128_store(sums + 4, sum[1]);
        wasm_v128_store(sums + other, sum[2]);
        wasm_v128_store(sums + other + 4, sum[3]);
        for (int32_t i = *from->word++ >> 1; i > 0; i--) {
            const int32_t word = *from->word++, cell = x[(uint32_t)word >> 12];
            sums[word >> 8 & 15] += (int8_t)word * (l->is_unsigned ? cell : cell ^ 128);
        }
        from->w += (8 + other) * size;
    }
}

/* All outputs of all rows. */
EK_INLINE void ek_light_all_wasm(const struct ek_lines_s8_wasm *l, const int32_t is_narrow)
{
    int32_t sums[8 * EK_HELD_WASM];
    for (int32_t v = 0; v < l->length; v++) {
        const int32_t *words = (const int32_t *)(const void *)l->w;
        struct ek_light_weights_wasm from = {words + 1, l->w + 4 * *words};
        for (int32_t first = 0, end; first < l->outputs; first = end) {
            end = l->outputs < first + 8 * EK_HELD_WASM ? l->outputs : first + 8 * EK_HELD_WASM;
            ek_light_sums_wasm(sums, l->x + v * l->x_step, &from, first, end, l, is_narrow);
            /* Outputs of one scale are like pixels of eight outputs; the last may be less. */
            for (int32_t o = first, groups; o < end; o += 8 * groups) {
                groups = l->results.each || end - o < 8 ? 1 : (end - o) / 8;
                struct ek_outputs_wasm outputs;
                ek_outputs_wasm(&outputs, l->w, 0, l->b, l->m, l->e, o, l->outputs, 0, &l->results);
                outputs.step = 8;
                ek_finish_wasm(sums + o - first, l->y + v * l->outputs + o, groups, &outputs, &l->results);
            }
        }
    }
}

/* Once for all layers, of each of two kinds of engines. */
static EK_SHARED void ek_light_rows_wasm(const struct ek_lines_s8_wasm *l)
{
    if (ek_light_narrow_wasm())
        ek_light_all_wasm(l, 1);
    else
        ek_light_all_wasm(l, 0);
}

#endif
