/* Rows that were quantized in this run, by WebAssembly: blocks of 16 outputs, pairs of inputs in 16 bits. Weights of 8 bits
 * lie in pairs of an output; those of 4 bits, 8 more, in fours, the first two in the lower halves of bytes. */
#ifndef EDGEKIT_DYNAMIC_ROWS_WASM_H
#define EDGEKIT_DYNAMIC_ROWS_WASM_H

#include "edgekit/loops/dynamic_rows.h"
#include "edgekit/simd/wasm/dynamic_sums_wasm.h"

/* How many rows share the loads of weights. */
#define EK_DR_ROWS(kind) 2
/* What weights have more. */
#define EK_DR_OFFSET(kind) ((kind) == EK_S4_KIND ? 8 : 0)

/* Two weights of each output in 16 bits: of pair 0, or of pair 1. */
EK_INLINED void ek_dr_pair(v128_t *to, const uint8_t *w, const int32_t pair, const int32_t kind)
{
    if (kind == EK_S4_KIND)
        EK_UNROLLED_FOR(2, int32_t k = 0; k < 2; k++) {
            const v128_t both = wasm_v128_load(w + 16 * k);
            const v128_t bytes = pair ? wasm_u8x16_shr(both, 4) : wasm_v128_and(both, wasm_i8x16_splat(15));
            to[2 * k] = wasm_u16x8_extend_low_u8x16(bytes);
            to[2 * k + 1] = wasm_u16x8_extend_high_u8x16(bytes);
        }
    else
        EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++)
            to[k] = wasm_i16x8_load8x8(w + 32 * pair + 8 * k);
}

/* Adds the products of `count` inputs, whole eights, of some rows and a block of outputs. */
EK_INLINED void ek_dr_products(ek_dr_ints *sum, const int8_t *x, const int32_t step, const void *w,
    const int32_t count, const int32_t rows, const int32_t kind)
{
    const uint8_t *from = (const uint8_t *)w;
    for (int32_t i = 0; i < count; i += 4, from += kind == EK_S4_KIND ? 32 : 64)
        EK_UNROLLED_FOR(2, int32_t pair = 0; pair < 2; pair++) {
            v128_t v[4];
            ek_dr_pair(v, from, pair, kind);
            EK_UNROLLED_FOR(2, int32_t r = 0; r < rows; r++) {
                const v128_t t =
                    wasm_i16x8_extend_low_i8x16(wasm_v128_load16_splat(x + r * step + i + 2 * pair));
                EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++)
                    sum[4 * r + k] = wasm_i32x4_add(sum[4 * r + k], wasm_i32x4_dot_i16x8(v[k], t));
            }
        }
}

#endif
