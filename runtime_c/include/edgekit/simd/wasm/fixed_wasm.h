/* The requantization rules for vectors of WebAssembly. Sums are scaled as floats, to fixed point with 13 bits
 * behind the point; where that is too close to a step of the rounding for floats to tell, the scalar rule takes the sums.
 *
 * Floats are right to 2/8192 for results that are not clamped: the sum, its factor and their product are rounded to
 * 24 bits, and what they are added to makes whole numbers of 1/8192 of it. A half is added, and 2/8192, so that a
 * fraction of 4/8192 or more says that the whole number is the exact one.
 *
 * What they are added to is so large that its last bit is worth 1/8192: the bits of the float are the number in fixed
 * point, also where it is to be clamped, as floats are in the order of their bits. A unit of it is 2^-119 as a float,
 * for bits that stay small: without those behind the point they fit 16, where integers clamp by themselves. */
#ifndef EDGEKIT_FIXED_WASM_H
#define EDGEKIT_FIXED_WASM_H

#include <stddef.h>
#include <wasm_simd128.h>

#include "edgekit/loops/rule_kinds.h"
#include "edgekit/math/fixed.h"
#include "edgekit/types.h"

/* For functions whose time does not matter: modules are fetched. */
#define EK_SMALL_WASM __attribute__((minsize))

#define EK_POINT_WASM 13
#define EK_UNIT_WASM (1 << EK_POINT_WASM)
#define EK_LARGE_WASM 0x0fc00000 /* the bits of 1.5 * 2^-96, */
#define EK_LAST_WASM (-119) /* the last of which is worth 2^-119 */

/* 2^e, for -126 <= e <= 127. */
EK_INLINE float ek_power_wasm(const int32_t e)
{
    const int32_t bits = (e + 127) * (1 << 23);
    float power;
    __builtin_memcpy(&power, &bits, 4);
    return power;
}

/* The rules, which kernels name: a module holds only those that are named, for the few sums that floats cannot tell. */
static EK_SHARED EK_SMALL_WASM int32_t ek_requantize_e_one(int32_t acc, int32_t m, int32_t e)
{
    return ek_requantize_e(acc, m, e);
}
static EK_SHARED EK_SMALL_WASM int32_t ek_requantize_e_wide_one(int32_t acc, int32_t m, int32_t e)
{
    return ek_requantize_e_wide(acc, m, e);
}
static EK_SHARED EK_SMALL_WASM int32_t ek_requantize_once_one(int32_t acc, int32_t m, int32_t e)
{
    return ek_requantize_once(acc, m, e);
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
    return r->kind <= ek_requantize_e_wide_kind ? 0 : r->each;
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
    return kind == ek_requantize_tfl_kind && lo < zero;
}

/* What products are added to: a zero point and a half, and `more` of 8192. */
EK_INLINE v128_t ek_offset_wasm(const int32_t zero, const int32_t more)
{
    return wasm_i32x4_splat(EK_LARGE_WASM + zero * EK_UNIT_WASM + EK_UNIT_WASM / 2 + more);
}

/* The scales of four outputs. */
EK_INLINE struct ek_scales_wasm ek_scales_wasm(
    const int32_t *m, const int8_t *e, const struct ek_results_wasm *r)
{
    const int32_t bias = 127 + EK_POINT_WASM;
    const v128_t tiny = wasm_f32x4_splat(ek_power_wasm(EK_LAST_WASM));
    const v128_t exponent =
        r->kind <= ek_requantize_e_wide_kind
            ? wasm_i32x4_splat(31 - e[0])
            : wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(e)));
    /* Powers of two, made of their exponents. */
    const v128_t unit = wasm_i32x4_shl(wasm_i32x4_add(exponent, wasm_i32x4_splat(bias)), 23);
    const v128_t last = wasm_i32x4_shl(wasm_i32x4_add(exponent, wasm_i32x4_splat(bias - 31)), 23);
    struct ek_scales_wasm s;
    s.factor = wasm_f32x4_mul(wasm_f32x4_mul(wasm_f32x4_convert_i32x4(wasm_v128_load(m)), last), tiny);
    s.nudge = wasm_v128_and(
        wasm_f32x4_mul(wasm_f32x4_mul(unit, wasm_f32x4_splat(0.5f)), tiny), wasm_i32x4_shr(exponent, 31));
    s.offset = ek_offset_wasm(r->zero, 2);
    if (r->kind == ek_requantize_tfl_kind && !ek_is_signed_wasm(r->kind, r->zero, r->lo))
        s.offset = wasm_f32x4_add(s.offset, s.nudge);
    return s;
}

/* Four results in fixed point, as the bits of floats. */
EK_INLINE v128_t ek_fixed_wasm(
    const v128_t sum, const v128_t factor, v128_t offset, const v128_t nudge, const int32_t is_signed)
{
    if (is_signed)
        offset = wasm_f32x4_add(offset, wasm_v128_or(nudge, wasm_v128_and(sum, wasm_i32x4_splat(INT32_MIN))));
    const v128_t real = wasm_f32x4_convert_i32x4(sum);
#ifdef __wasm_relaxed_simd__
    return wasm_f32x4_relaxed_madd(real, factor, offset); /* with one rounding or two */
#else
    return wasm_f32x4_add(wasm_f32x4_mul(real, factor), offset);
#endif
}

/* What is behind the point, in the highest bits. */
EK_INLINE v128_t ek_fraction_wasm(const v128_t fixed)
{
    return wasm_i32x4_shl(fixed, 32 - EK_POINT_WASM);
}

/* Is one of four fractions below 2^bits / 8192? */
EK_INLINE int32_t ek_is_close_wasm(const v128_t fraction, const int32_t bits)
{
    return !wasm_i32x4_all_true(wasm_u32x4_shr(fraction, 32 - EK_POINT_WASM + (uint32_t)bits));
}

/* Eight whole results, clamped to 16 bits; `large` are the bits of EK_LARGE_WASM that come with them. */
EK_INLINE v128_t ek_whole_wasm(const v128_t a, const v128_t b, const v128_t large)
{
    const v128_t both =
        wasm_i16x8_narrow_i32x4(wasm_i32x4_shr(a, EK_POINT_WASM), wasm_i32x4_shr(b, EK_POINT_WASM));
    return wasm_i16x8_sub_sat(both, large);
}

#endif
