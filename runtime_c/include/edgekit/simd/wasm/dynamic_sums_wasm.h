/* Sums of rows that were quantized in this run, in blocks of 16 outputs: what kernels for WebAssembly with and without relaxed
 * vectors share. */
#ifndef EDGEKIT_DYNAMIC_SUMS_WASM_H
#define EDGEKIT_DYNAMIC_SUMS_WASM_H

#include "edgekit/simd/wasm/f32_wasm.h"

#define EK_DR_BLOCK 16 /* outputs */
#define EK_DR_VECTORS(kind) 4

typedef v128_t ek_dr_ints;

EK_INLINE ek_dr_ints ek_dr_same(const int32_t x)
{
    return wasm_i32x4_splat(x);
}

EK_INLINE ek_vf ek_dr_reals(const ek_dr_ints sum)
{
    return wasm_f32x4_convert_i32x4(sum);
}

/* a + the bits of b, which are integers. */
EK_INLINE ek_dr_ints ek_dr_more(const ek_dr_ints a, const ek_vf b)
{
    return wasm_i32x4_add(a, b);
}

#endif
