/* The requantization rules of fixed.h for vectors of WebAssembly. Sums are scaled as floats, to fixed point with 13 bits
 * behind the point; where that is too close to a step of the rounding for floats to tell, the sums go through fixed.h.
 *
 * Floats are right to 1/8192 for results that are not clamped: the sum, its factor and their product are rounded to
 * 24 bits, and the result is below 512. A half is added, and 2/8192, so that a fraction of 4/8192 or more says that the
 * whole number is the exact one. */
#ifndef EDGEKIT_FIXED_WASM_H
#define EDGEKIT_FIXED_WASM_H

#include <stddef.h>
#include <wasm_simd128.h>

#include "edgekit/fixed.h"
#include "edgekit/types.h"

/* For functions whose time does not matter: modules are fetched. */
#define EK_SMALL_WASM __attribute__((minsize))

#define EK_POINT_WASM 13
#define EK_UNIT_WASM (1 << EK_POINT_WASM)

/* 2^e, for -126 <= e <= 127. */
EK_INLINE float ek_power_wasm(const int32_t e)
{
    const int32_t bits = (e + 127) * (1 << 23);
    float power;
    __builtin_memcpy(&power, &bits, 4);
    return power;
}

/* Which rule: kernels name it. A module holds only those that are named, for the few sums that floats cannot tell. */
EK_INLINE int32_t ek_requantize_e_kind(void)
{
    return 0;
}
static EK_SHARED EK_SMALL_WASM int32_t ek_requantize_e_one(int32_t acc, int32_t m, int32_t e)
{
    return ek_requantize_e(acc, m, e);
}
EK_INLINE int32_t ek_requantize_e_wide_kind(void)
{
    return 1;
}
static EK_SHARED EK_SMALL_WASM int32_t ek_requantize_e_wide_one(int32_t acc, int32_t m, int32_t e)
{
    return ek_requantize_e_wide(acc, m, e);
}
EK_INLINE int32_t ek_requantize_once_kind(void)
{
    return 2;
}
static EK_SHARED EK_SMALL_WASM int32_t ek_requantize_once_one(int32_t acc, int32_t m, int32_t e)
{
    return ek_requantize_once(acc, m, e);
}
EK_INLINE int32_t ek_requantize_tfl_kind(void)
{
    return 3;
}
static EK_SHARED EK_SMALL_WASM int32_t ek_requantize_tfl_one(int32_t acc, int32_t m, int32_t e)
{
    return ek_requantize_tfl(acc, m, e);
}

/* The rule, and what a kernel does behind it. */
struct ek_results_wasm {
    int32_t (*rule)(int32_t acc, int32_t m, int32_t e);
    int32_t kind;
    int32_t
        each; /* 1 where each output has a multiplier and an exponent, 0 where four hold for all of them */
    int32_t zero;
    int32_t lo;
    int32_t hi;
};

/* From one exponent to the next: rule E has one. */
EK_INLINE int32_t ek_exponents_wasm(const struct ek_results_wasm *r)
{
    return r->kind < 2 ? 0 : r->each;
}

/* Four sums become results by these. Rule T rounds twice, which moves the steps of the second rounding by half a unit
 * of the first, away from zero. */
struct ek_scales_wasm {
    v128_t factor;
    v128_t nudge;
    v128_t offset;
};

/* Has the nudge the sign of the sum? Not where all results below the zero point are the same. */
EK_INLINE int32_t ek_is_signed_wasm(const int32_t kind, const int32_t zero, const int32_t lo)
{
    return kind == 3 && lo < zero;
}

/* The scales of four outputs. */
EK_INLINE struct ek_scales_wasm ek_scales_wasm(
    const int32_t *m, const int8_t *e, const struct ek_results_wasm *r)
{
    const int32_t bias = 127 + EK_POINT_WASM;
    const v128_t exponent =
        r->kind < 2 ? wasm_i32x4_splat(31 - e[0])
                    : wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(e)));
    /* Powers of two, made of their exponents. */
    const v128_t unit = wasm_i32x4_shl(wasm_i32x4_add(exponent, wasm_i32x4_splat(bias)), 23);
    const v128_t last = wasm_i32x4_shl(wasm_i32x4_add(exponent, wasm_i32x4_splat(bias - 31)), 23);
    struct ek_scales_wasm s;
    s.factor = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(wasm_v128_load(m)), last);
    const v128_t nudge =
        wasm_v128_and(wasm_f32x4_mul(unit, wasm_f32x4_splat(0.5f)), wasm_i32x4_shr(exponent, 31));
    s.nudge = nudge;
    s.offset = wasm_f32x4_splat((float)((r->zero + 128) * EK_UNIT_WASM + EK_UNIT_WASM / 2 + 2));
    if (r->kind == 3 && !ek_is_signed_wasm(r->kind, r->zero, r->lo))
        s.offset = wasm_f32x4_add(s.offset, nudge);
    return s;
}

/* To integers, which clamps: engines have no single instruction for the conversion, but all have for the sum with a
 * number so large that its last bit is the one wanted. */
EK_INLINE v128_t ek_clamped_wasm(const v128_t scaled, const struct ek_results_wasm *r)
{
    const v128_t large = wasm_f32x4_splat(12582912.0f);
    const v128_t lo = wasm_f32x4_splat((float)((r->lo + 128) * EK_UNIT_WASM + EK_UNIT_WASM / 2));
    const v128_t hi = wasm_f32x4_splat((float)((r->hi + 128) * EK_UNIT_WASM + EK_UNIT_WASM / 2));
    const v128_t inside = wasm_f32x4_pmin(wasm_f32x4_pmax(scaled, lo), hi);
    return wasm_i32x4_sub(wasm_f32x4_add(inside, large), large);
}

/* Four results in fixed point, 128 more. Relaxed conversions do not clamp: sums must be small. */
EK_INLINE v128_t ek_fixed_wasm(const v128_t sum, const struct ek_scales_wasm *s, const int32_t is_relaxed,
    const int32_t is_signed, const struct ek_results_wasm *r)
{
    const v128_t real = wasm_f32x4_convert_i32x4(sum);
    v128_t offset = s->offset;
    if (is_signed) {
        const v128_t sign = wasm_v128_and(sum, wasm_i32x4_splat(INT32_MIN));
        offset = wasm_f32x4_add(offset, wasm_v128_or(s->nudge, sign));
    }
#ifdef __wasm_relaxed_simd__
    /* With one rounding or two. */
    if (is_relaxed)
        return wasm_i32x4_relaxed_trunc_f32x4(wasm_f32x4_relaxed_madd(real, s->factor, offset));
#endif
    (void)is_relaxed;
    return ek_clamped_wasm(wasm_f32x4_add(wasm_f32x4_mul(real, s->factor), offset), r);
}

EK_INLINE v128_t ek_fraction_wasm(const v128_t fixed)
{
    return wasm_v128_and(fixed, wasm_i32x4_splat(EK_UNIT_WASM - 1));
}

/* Sums of `pixels` with eight outputs each, of which n are stored, by fixed.h. */
static EK_SHARED EK_SMALL_WASM void ek_exact_wasm(const int32_t *sum, const int32_t *m, const int8_t *e,
    int8_t *y, int32_t y_step, int32_t pixels, int32_t n, const struct ek_results_wasm *r)
{
    for (int32_t q = 0; q < pixels; q++)
        for (int32_t o = 0; o < n; o++) {
            const int32_t z = r->rule(sum[8 * q + o], m[o * r->each], e[o * ek_exponents_wasm(r)]);
            y[q * y_step + o] = ek_clamp_s8(r->zero + z, r->lo, r->hi);
        }
}

#endif
