/* How an engine takes second factors of relaxed products of bytes whose top bit is set: that is up to it. */
#ifndef EDGEKIT_RELAXED_PRODUCTS_WASM_H
#define EDGEKIT_RELAXED_PRODUCTS_WASM_H

#include <wasm_simd128.h>

#include "edgekit/types.h"

#ifdef __wasm_relaxed_simd__
/* Has this engine unsigned second factors? */
EK_INLINE int32_t ek_four_unsigned_wasm(void)
{
    const v128_t dot = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(
        wasm_i8x16_splat(1), wasm_i8x16_splat(-128), wasm_i32x4_splat(0));
    return wasm_i32x4_extract_lane(dot, 0) > 0;
}
#endif

#endif
