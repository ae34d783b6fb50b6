/* Rows that were quantized in this run, by WebAssembly with relaxed vectors: blocks of 16 outputs. Second factors are the
 * weights: those of 4 bits, 8 more, have seven bits at most, so that each engine is exact; those of 8 bits are 128 more where
 * the engine takes them as unsigned.
 *
 * Weights of 8 bits lie in fours of an output; those of 4 bits in eights, the first four in the lower halves of bytes. */
#ifndef EDGEKIT_DYNAMIC_ROWS_RELAXED_H
#define EDGEKIT_DYNAMIC_ROWS_RELAXED_H

#include "edgekit/loops/dynamic_rows.h"
#include "edgekit/simd/wasm/dynamic_sums_wasm.h"
#include "edgekit/simd/wasm/relaxed_products_wasm.h"

/* How many rows share the loads of weights. */
#define EK_DR_ROWS(kind) 3
/* What weights have more. */
#define EK_DR_OFFSET(kind) ((kind) == EK_S4_KIND ? 8 : ek_four_unsigned_wasm() ? 128 : 0)

/* Four weights of four outputs: of the first four inputs of eight, or of the others. */
EK_INLINED v128_t ek_dr_weights(const uint8_t *w, const int32_t others, const int32_t k, const int32_t kind)
{
    const v128_t v = wasm_v128_load(w + 16 * k + (kind == EK_S4_KIND ? 0 : 64 * others));
    if (kind != EK_S4_KIND)
        return wasm_v128_xor(v, wasm_i8x16_splat((int8_t)EK_DR_OFFSET(kind)));
    return others ? wasm_u8x16_shr(v, 4) : wasm_v128_and(v, wasm_i8x16_splat(15));
}

/* Adds the products of `count` inputs, whole eights, of some rows and a block of outputs. A single row has two sums of each
 * output, so that one product need not wait for the other. */
EK_INLINED void ek_dr_products(ek_dr_ints *sum, const int8_t *x, const int32_t step, const void *w,
    const int32_t count, const int32_t rows, const int32_t kind)
{
    const uint8_t *from = (const uint8_t *)w;
    v128_t second[4];
    EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++)
        second[k] = ek_dr_same(0);
    for (int32_t i = 0; i < count; i += 8, from += kind == EK_S4_KIND ? 64 : 128)
        EK_UNROLLED_FOR(2, int32_t others = 0; others < 2; others++)
            EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++) {
                const v128_t v = ek_dr_weights(from, others, k, kind);
                EK_UNROLLED_FOR(4, int32_t r = 0; r < rows; r++) {
                    v128_t *const to = rows == 1 && others ? second : sum + 4 * r;
                    const v128_t t = wasm_v128_load32_splat(x + r * step + i + 4 * others);
                    to[k] = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(t, v, to[k]);
                }
            }
    EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++)
        if (rows == 1)
            sum[k] = wasm_i32x4_add(sum[k], second[k]);
}

#endif
