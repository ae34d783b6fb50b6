/* Rows of int8 with relaxed vectors, exact in every engine: of weights side by side, what is too much for engines that add
 * two products in 16 bits comes in blocks of its own. See codegen/light.py. */
#ifndef EDGEKIT_LIGHT_S8_WASM_H
#define EDGEKIT_LIGHT_S8_WASM_H

#include "edgekit/lines_s8_wasm.h"

/* Does this engine add two products in 16 bits, and stop at their ends? */
EK_INLINE int32_t ek_light_narrow_wasm(void)
{
    const v128_t dot = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(
        wasm_i8x16_splat(127), wasm_i8x16_splat(-1), wasm_i32x4_splat(0));
    return wasm_i32x4_extract_lane(dot, 0) % 508 != 0; /* four times 127 times -1, or 255 */
}

/* As engines have it that put a sum of four together from sums of two: the ones for that stay in a register. */
EK_INLINE v128_t ek_light_dot_wasm(
    const v128_t sum, const v128_t w, const v128_t x, const v128_t one, const int32_t is_narrow)
{
    if (is_narrow)
        return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(wasm_i16x8_relaxed_dot_i8x16_i7x16(w, x), one));
    return ek_dot_wasm(sum, w, x, 4);
}

/* Eight outputs of a row at a time, in four sums each, as engines take a while for each. Outputs of one scale are like pixels
 * of eight outputs. */
EK_INLINE void ek_light_all_wasm(const struct ek_lines_s8_wasm *l, const int32_t is_narrow)
{
    const v128_t half = wasm_i8x16_splat(64);
    v128_t one = wasm_i16x8_splat(1);
    EK_IN_ORDER(one)
    for (int32_t v = 0; v < l->length; v++) {
        const uint8_t *x = l->x + v * l->x_step;
        const int8_t *w = l->w;
        struct ek_outputs_wasm outputs;
        int32_t sums[8 * EK_HELD_WASM], held = 0;
        for (int32_t first = 0; first < l->outputs; first += 8) {
            v128_t sum[4][2];
            if (held == 0) {
                ek_outputs_wasm(&outputs, w, 0, l->b, l->m, l->e, first, l->outputs, 0, &l->results);
                if (!l->results.each)
                    outputs.step = 8;
            }
            const int8_t *extra = w + 4, *const end = extra + 36 * *(const int32_t *)(const void *)w;
            ek_biases_wasm(sum[0], end, l->chunks, l->b + first, !l->is_unsigned);
            for (int32_t k = 1; k < 4; k++)
                sum[k][0] = sum[k][1] = wasm_i32x4_splat(0);
            for (; extra < end; extra += 36) {
                const v128_t t = wasm_v128_load32_splat(x + *(const int32_t *)(const void *)extra);
                for (int32_t o = 0; o < 2; o++) {
                    const v128_t some = wasm_v128_load(extra + 4 + 16 * o);
                    sum[1][o] = ek_dot_wasm(sum[1][o], some, t, 4);
                    if (!l->is_unsigned)
                        sum[1][o] = ek_dot_wasm(ek_dot_wasm(sum[1][o], some, half, 4), some, half, 4);
                }
            }
            w = end;
            int32_t c = 0;
            for (; c + 4 <= l->chunks; c += 4, w += 128)
#pragma clang loop unroll(full)
                for (size_t k = 0; k < 4; k++) {
                    const v128_t t = wasm_v128_load32_splat(x + 4 * (size_t)c + 4 * k);
                    for (size_t o = 0; o < 2; o++)
                        sum[k][o] = ek_light_dot_wasm(
                            sum[k][o], wasm_v128_load(w + 32 * k + 16 * o), t, one, is_narrow);
                }
            for (; c < l->chunks; c++, w += 32) {
                const v128_t t = wasm_v128_load32_splat(x + 4 * c);
                for (int32_t o = 0; o < 2; o++)
                    sum[0][o] = ek_light_dot_wasm(sum[0][o], wasm_v128_load(w + 16 * o), t, one, is_narrow);
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

/* Once for all layers, of each of two kinds of engines. */
static EK_SHARED void ek_light_rows_wasm(const struct ek_lines_s8_wasm *l)
{
    if (ek_light_narrow_wasm())
        ek_light_all_wasm(l, 1);
    else
        ek_light_all_wasm(l, 0);
}

#endif
