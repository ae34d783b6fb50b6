/* Vectors of int32 for WebAssembly: the vocabulary of elementwise kernels and of pooling, which all instruction sets
 * define: s32_<set>.h. */
#ifndef EDGEKIT_S32_WASM_H
#define EDGEKIT_S32_WASM_H

#include <stddef.h>
#include <wasm_simd128.h>

#include "edgekit/types.h"

#define EK_VI_LANES 4
/* What stands before what all layers share: modules are fetched. */
#define EK_VI_SHARED static EK_SHARED

typedef v128_t ek_vi;

EK_INLINE ek_vi ek_vi_same(const int32_t x)
{
    return wasm_i32x4_splat(x);
}
EK_INLINE ek_vi ek_vi_add(const ek_vi a, const ek_vi b)
{
    return wasm_i32x4_add(a, b);
}
EK_INLINE ek_vi ek_vi_mul(const ek_vi a, const ek_vi b)
{
    return wasm_i32x4_mul(a, b);
}
/* a >> n */
EK_INLINE ek_vi ek_vi_shifted(const ek_vi a, const int32_t n)
{
    return wasm_i32x4_shr(a, (uint32_t)n);
}

/* A factor for all lanes. */
EK_INLINE ek_vi ek_s32_factor(const int32_t x)
{
    return wasm_i32x4_splat(x);
}

/* Four vectors of int8 that lie side by side, less their zero point. */
EK_INLINE void ek_vi_load_s8(ek_vi *z, const int8_t *x, const int32_t zero)
{
    const v128_t less = wasm_i16x8_splat((int16_t)zero);
    EK_UNROLLED_FOR(2, int32_t k = 0; k < 2; k++) {
        const v128_t all = wasm_i16x8_load8x8(x + 8 * k), v = zero ? wasm_i16x8_sub(all, less) : all;
        z[2 * k] = wasm_i32x4_extend_low_i16x8(v);
        z[2 * k + 1] = wasm_i32x4_extend_high_i16x8(v);
    }
}

/* A vector of int32 and of int16. */
EK_INLINE ek_vi ek_vi_load(const int32_t *x)
{
    return wasm_v128_load(x);
}
EK_INLINE ek_vi ek_vi_load_s16(const int16_t *x)
{
    return wasm_i32x4_load16x4(x);
}

/* `below` in the lanes where a is less than 0, else `other`. */
EK_INLINE ek_vi ek_vi_by_sign(const ek_vi a, const ek_vi below, const ek_vi other)
{
    return wasm_v128_bitselect(below, other, wasm_i32x4_shr(a, 31));
}

/* The sum of its numbers. */
EK_INLINE int32_t ek_vi_total(const ek_vi x)
{
    return wasm_i32x4_extract_lane(x, 0) + wasm_i32x4_extract_lane(x, 1) + wasm_i32x4_extract_lane(x, 2)
           + wasm_i32x4_extract_lane(x, 3);
}

/* clamp(zero + z) of four vectors as int8, and of sixteen numbers. */
EK_INLINE void ek_vi_store_s8(
    int8_t *y, const ek_vi *z, const int32_t zero, const int32_t lo, const int32_t hi)
{
    v128_t low = wasm_i16x8_narrow_i32x4(z[0], z[1]), high = wasm_i16x8_narrow_i32x4(z[2], z[3]);
    if (zero) {
        low = wasm_i16x8_add_sat(low, wasm_i16x8_splat((int16_t)zero));
        high = wasm_i16x8_add_sat(high, wasm_i16x8_splat((int16_t)zero));
    }
    const v128_t bytes = wasm_i8x16_narrow_i16x8(low, high);
    wasm_v128_store(
        y, wasm_i8x16_min(wasm_i8x16_max(bytes, wasm_i8x16_splat((int8_t)lo)), wasm_i8x16_splat((int8_t)hi)));
}
EK_INLINE void ek_vi_store16_s8(
    int8_t *y, const ek_vi *z, const int32_t zero, const int32_t lo, const int32_t hi)
{
    ek_vi_store_s8(y, z, zero, lo, hi);
}

/* The first n of these. */
EK_INLINE void ek_vi_copy_s8(int8_t *y, const int8_t *x, const int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = x[i];
}

/* The upper halves of four products, to which `half` is added. */
EK_INLINE ek_vi ek_vi_upper(const ek_vi a, const ek_vi m, const int64_t half)
{
    const v128_t low = wasm_i64x2_add(wasm_i64x2_extmul_low_i32x4(a, m), wasm_i64x2_splat(half));
    const v128_t high = wasm_i64x2_add(wasm_i64x2_extmul_high_i32x4(a, m), wasm_i64x2_splat(half));
    return wasm_i32x4_shuffle(low, high, 1, 3, 5, 7);
}

/* The rules with one multiplier and exponent for all; sums have at most 30 bits, their sign apart. */
EK_INLINE ek_vi ek_requantize_e_same(const ek_vi acc, const int32_t m, const int32_t e)
{
    return ek_vi_shifted(ek_vi_upper(acc, wasm_i32x4_splat(m), (int64_t)1 << (e - 1)), e - 32);
}
EK_INLINE ek_vi ek_requantize_tfl_same(const ek_vi acc, const int32_t m, const int32_t e)
{
    const int32_t up = e < 0 ? 1 : e + 1, down = e < 0 ? -e : 0;
    const ek_vi y = ek_vi_upper(wasm_i32x4_shl(acc, (uint32_t)up), wasm_i32x4_splat(m), (int64_t)1 << 31);
    if (down == 0)
        return y;
    const ek_vi away = ek_vi_add(wasm_i32x4_shr(y, 31), wasm_i32x4_splat((int32_t)(1u << (down - 1))));
    return ek_vi_shifted(ek_vi_add(y, away), down);
}

/* Two products, rounded, in the lower halves; what leaves 31 bits is saturated. */
EK_INLINE v128_t ek_vi_rounded(const v128_t product, const int32_t e)
{
    const v128_t most = wasm_i64x2_splat((int64_t)1 << 30), least = wasm_i64x2_splat(-((int64_t)1 << 30));
    const v128_t sum = wasm_i64x2_add(product, wasm_i64x2_splat((int64_t)1 << (e - 1)));
    const v128_t y = wasm_i64x2_shr(sum, (uint32_t)e);
    const v128_t low = wasm_v128_bitselect(most, y, wasm_i64x2_gt(y, most));
    return wasm_v128_bitselect(least, low, wasm_i64x2_lt(low, least));
}
EK_INLINE ek_vi ek_requantize_e_wide_same(const ek_vi acc, const int32_t m, const int32_t e)
{
    const v128_t factor = wasm_i32x4_splat(m);
    return wasm_i32x4_shuffle(ek_vi_rounded(wasm_i64x2_extmul_low_i32x4(acc, factor), e),
        ek_vi_rounded(wasm_i64x2_extmul_high_i32x4(acc, factor), e), 0, 2, 4, 6);
}

/* Sixteen sums of at most 256 int8, and what they add to sums of 32 bits. */
typedef struct {
    v128_t val[2];
} ek_v16;

EK_INLINE ek_v16 ek_v16_none(void)
{
    const ek_v16 y = {{wasm_i16x8_splat(0), wasm_i16x8_splat(0)}};
    return y;
}
EK_INLINE ek_v16 ek_v16_add_s8(ek_v16 y, const int8_t *x)
{
    const v128_t all = wasm_v128_load(x);
    y.val[0] = wasm_i16x8_add(y.val[0], wasm_i16x8_extend_low_i8x16(all));
    y.val[1] = wasm_i16x8_add(y.val[1], wasm_i16x8_extend_high_i8x16(all));
    return y;
}
EK_INLINE void ek_vi_add_v16(ek_vi *sum, const ek_v16 x)
{
    EK_UNROLLED_FOR(2, int32_t k = 0; k < 2; k++) {
        sum[2 * k] = wasm_i32x4_add(sum[2 * k], wasm_i32x4_extend_low_i16x8(x.val[k]));
        sum[2 * k + 1] = wasm_i32x4_add(sum[2 * k + 1], wasm_i32x4_extend_high_i16x8(x.val[k]));
    }
}

/* The whole part of (x + half) * factor, half having the sign of x. */
EK_INLINE ek_vi ek_vi_scaled(const ek_vi x, const float half, const float factor)
{
    const v128_t v = wasm_f32x4_convert_i32x4(x);
    const v128_t signed_half = wasm_v128_bitselect(v, wasm_f32x4_splat(half), wasm_i32x4_splat(INT32_MIN));
    return wasm_i32x4_trunc_sat_f32x4(
        wasm_f32x4_mul(wasm_f32x4_add(v, signed_half), wasm_f32x4_splat(factor)));
}

/* x / scale of four reals; of what is no number: `other`. */
EK_INLINE v128_t ek_vi_quotients(const float *x, const float scale, const float other)
{
    const v128_t v = wasm_f32x4_div(wasm_v128_load(x), wasm_f32x4_splat(scale));
    return wasm_v128_bitselect(v, wasm_f32x4_splat(other), wasm_f32x4_eq(v, v));
}

/* These as the nearest integers, halves to the even one or away from zero: what is below a half is added to. */
EK_INLINE ek_vi ek_even_vi(const float *x, const float scale, const float other)
{
    return wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest(ek_vi_quotients(x, scale, other)));
}
EK_INLINE ek_vi ek_away_vi(const float *x, const float scale, const float other)
{
    const v128_t v = ek_vi_quotients(x, scale, other);
    const v128_t half = wasm_v128_bitselect(v, wasm_f32x4_splat(0.49999997f), wasm_i32x4_splat(INT32_MIN));
    return wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_add(v, half));
}

#endif
