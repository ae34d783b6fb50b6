/* Vectors of floats for WebAssembly, as far as decoders use them. */
#ifndef EDGEKIT_F32_WASM_H
#define EDGEKIT_F32_WASM_H

#include <wasm_simd128.h>

#include "edgekit/loops/weight_kinds.h"

#define EK_VF_LANES 4
/* How many columns products with transposed matrices take at once. */
#define EK_VF_COLUMNS 4

typedef v128_t ek_vf;

EK_INLINE ek_vf ek_vf_set(const float x)
{
    return wasm_f32x4_splat(x);
}

EK_INLINE ek_vf ek_vf_add(const ek_vf a, const ek_vf b)
{
    return wasm_f32x4_add(a, b);
}

EK_INLINE ek_vf ek_vf_mul(const ek_vf a, const ek_vf b)
{
    return wasm_f32x4_mul(a, b);
}

/* a * b + c, rounded twice */
EK_INLINE ek_vf ek_vf_fma(const ek_vf a, const ek_vf b, const ek_vf c)
{
    return wasm_f32x4_add(wasm_f32x4_mul(a, b), c);
}

EK_INLINE ek_vf ek_vf_clamp(const ek_vf x, const float lo, const float hi)
{
    const ek_vf y = lo > -EK_INF_f32 ? wasm_f32x4_pmax(wasm_f32x4_splat(lo), x) : x;
    return hi < EK_INF_f32 ? wasm_f32x4_pmin(wasm_f32x4_splat(hi), y) : y;
}

/* Four numbers, and those from number `at` on of a row. */
EK_INLINE ek_vf ek_vf_four(const float *x)
{
    return wasm_v128_load(x);
}
EK_INLINE ek_vf ek_vf_fours(const float *const *row, const int32_t at)
{
    return wasm_v128_load(row[0] + at);
}

/* The first `count` of four numbers, at least one, then zeros. */
EK_INLINE ek_vf ek_vf_load(const float *x, const int32_t count)
{
    if (count >= 4)
        return wasm_v128_load(x);
    ek_vf y = wasm_v128_load32_zero(x);
    if (count > 1)
        y = wasm_v128_load32_lane(x + 1, y, 1);
    if (count > 2)
        y = wasm_v128_load32_lane(x + 2, y, 2);
    return y;
}

EK_INLINE void ek_vf_store(float *y, const int32_t count, const ek_vf v)
{
    if (count >= 4)
        wasm_v128_store(y, v);
    else {
        wasm_v128_store32_lane(y, v, 0);
        if (count > 1)
            wasm_v128_store32_lane(y + 1, v, 1);
        if (count > 2)
            wasm_v128_store32_lane(y + 2, v, 2);
    }
}

/* Four weights from number `at` on, of this kind: floats of 32 or 16 bits. A half has 112 less in its exponent, and
 * infinities and NaN have all of its bits. */
EK_INLINE ek_vf ek_vf_weights(const void *w, const int32_t at, const int32_t kind)
{
    if (kind == EK_F32_KIND)
        return wasm_v128_load((const float *)w + at);
    const v128_t bits = wasm_u32x4_load16x4((const uint16_t *)w + at);
    if (kind == EK_BF16_KIND)
        return wasm_i32x4_shl(bits, 16);
    const v128_t sign = wasm_i32x4_shl(wasm_v128_and(bits, wasm_i32x4_splat(0x8000)), 16);
    const v128_t size = wasm_i32x4_shl(wasm_v128_and(bits, wasm_i32x4_splat(0x7FFF)), 13);
    const v128_t all = wasm_i32x4_gt(size, wasm_i32x4_splat(0x0F7FFFFF));
    const v128_t value = wasm_f32x4_mul(size, wasm_i32x4_splat(0x77800000)); /* 2^112 */
    return wasm_v128_or(wasm_v128_or(value, sign), wasm_v128_and(all, wasm_i32x4_splat(0x7F800000)));
}

/* The sums of the elements of each, of `count` vectors that exist of four. */
EK_INLINE void ek_vf_store_totals(float *y, const int32_t count, const ek_vf *v)
{
    const v128_t a = wasm_f32x4_add(
        wasm_i32x4_shuffle(v[0], v[1], 0, 4, 1, 5), wasm_i32x4_shuffle(v[0], v[1], 2, 6, 3, 7));
    const v128_t b = wasm_f32x4_add(
        wasm_i32x4_shuffle(v[2], v[3], 0, 4, 1, 5), wasm_i32x4_shuffle(v[2], v[3], 2, 6, 3, 7));
    ek_vf_store(
        y, count, wasm_f32x4_add(wasm_i32x4_shuffle(a, b, 0, 1, 4, 5), wasm_i32x4_shuffle(a, b, 2, 3, 6, 7)));
}

#endif
