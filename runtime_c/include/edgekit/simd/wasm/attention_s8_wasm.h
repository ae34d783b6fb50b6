/* Products of int8 for attention, with SIMD of WebAssembly: eight elements or columns at a time, pairs of 16 bits. */
#ifndef EDGEKIT_ATTENTION_S8_WASM_H
#define EDGEKIT_ATTENTION_S8_WASM_H

#include <wasm_simd128.h>

#include "edgekit/types.h"

#define EK_A8_EIGHTS 2 /* eights of them at a time */

/* Dot products of a query and four keys, of whole eights. */
EK_INLINE void ek_a8_dots(const int8_t *q, const int8_t *const *k, const int32_t size, int32_t *to)
{
    v128_t sum[4];
    EK_UNROLLED_FOR(4, int32_t j = 0; j < 4; j++)
        sum[j] = wasm_i32x4_splat(0);
    for (int32_t i = 0; i < size; i += 8) {
        const v128_t x = wasm_i16x8_load8x8(q + i);
        EK_UNROLLED_FOR(4, int32_t j = 0; j < 4; j++)
            sum[j] = wasm_i32x4_add(sum[j], wasm_i32x4_dot_i16x8(x, wasm_i16x8_load8x8(k[j] + i)));
    }
    EK_UNROLLED_FOR(4, int32_t j = 0; j < 4; j++)
        to[j] = (wasm_i32x4_extract_lane(sum[j], 0) + wasm_i32x4_extract_lane(sum[j], 1))
                + (wasm_i32x4_extract_lane(sum[j], 2) + wasm_i32x4_extract_lane(sum[j], 3));
}

/* Sums over m keys of weights times values, of some eights of columns. Behind an odd last weight there is a 0. */
EK_INLINED void ek_a8_sums(
    const int16_t *w, const int8_t *v, const int32_t m, const int32_t step, const int32_t eights, int32_t *to)
{
    v128_t sum[2 * EK_A8_EIGHTS];
    EK_UNROLLED_FOR(4, int32_t c = 0; c < 2 * eights; c++)
        sum[c] = wasm_i32x4_splat(0);
    for (int32_t j = 0; j < m; j += 2, v += 2 * step) {
        const int8_t *next = v + (j + 1 < m ? step : 0);
        const v128_t pair = wasm_v128_load32_splat(w + j);
        EK_UNROLLED_FOR(2, int32_t c = 0; c < eights; c++) {
            const v128_t a = wasm_v128_load64_zero(v + 8 * c), b = wasm_v128_load64_zero(next + 8 * c);
            const v128_t both =
                wasm_i8x16_shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            sum[2 * c] =
                wasm_i32x4_add(sum[2 * c], wasm_i32x4_dot_i16x8(pair, wasm_i16x8_extend_low_i8x16(both)));
            sum[2 * c + 1] = wasm_i32x4_add(
                sum[2 * c + 1], wasm_i32x4_dot_i16x8(pair, wasm_i16x8_extend_high_i8x16(both)));
        }
    }
    EK_UNROLLED_FOR(4, int32_t c = 0; c < 2 * eights; c++)
        wasm_v128_store(to + 4 * c, sum[c]);
}

#endif
