/* From sums of products of int8 to results, in WebAssembly: eight outputs of some pixels. One loop for all layers, behind
 * their products: modules are fetched. */
#ifndef EDGEKIT_SUMS_S8_WASM_H
#define EDGEKIT_SUMS_S8_WASM_H

#include "edgekit/fixed_wasm.h"

/* Engines keep the order of a module, and have sixteen registers: compilers would load much in advance. */
#define EK_IN_ORDER(v) __asm__ volatile("" : "+r"(v)::"memory");

/* Four weights each of four outputs, or two, as factors. */
EK_INLINE v128_t ek_weights_wasm(const int8_t *w, const int32_t cells)
{
    return cells == 4 ? wasm_v128_load(w) : wasm_i16x8_load8x8(w);
}

EK_INLINE v128_t ek_dot_wasm(const v128_t sum, const v128_t w, const v128_t x, const int32_t cells)
{
#ifdef __wasm_relaxed_simd__
    if (cells == 4)
        return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w, x, sum);
#endif
    (void)cells;
    return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(x, w));
}

/* Has each output of a layer a scale? */
#define EK_EACH_SCALE 1
#define EK_ONE_SCALE 0

/* Pixels whose sums wait for that loop: a multiple of 6. */
#define EK_HELD_WASM 48

/* What eight outputs start with, and how their sums become results. */
struct ek_outputs_wasm {
    v128_t bias[2];
    struct ek_scales_wasm scales[2];
    const int32_t *m;
    const int8_t *e;
    int32_t count; /* of them that exist */
    int32_t step; /* bytes from one pixel of y to the next */
};

/* What eight outputs start with, whose weights are `steps` steps. Biases are for unsigned cells: where engines have others,
 * they are 128 less. */
EK_INLINE void ek_biases_wasm(
    v128_t *bias, const int8_t *w, const int32_t steps, const int32_t *b, const int32_t is_shifted)
{
    for (int32_t k = 0; k < 2; k++, w += 16) {
        bias[k] = wasm_v128_load(b + 4 * k);
        for (int32_t i = 0; is_shifted && i < steps; i++) {
            const v128_t some = wasm_v128_load(w + 32 * i), half = wasm_i8x16_splat(64);
            bias[k] = ek_dot_wasm(ek_dot_wasm(bias[k], some, half, 4), some, half, 4);
        }
    }
}

/* Outputs from `first` on of `all`. */
static EK_SHARED EK_SMALL_WASM void ek_outputs_wasm(struct ek_outputs_wasm *c, const int8_t *w, int32_t steps,
    const int32_t *b, const int32_t *m, const int8_t *e, int32_t first, int32_t all, int32_t is_shifted,
    const struct ek_results_wasm *r)
{
    c->m = m + first * r->each;
    c->e = e + first * ek_exponents_wasm(r);
    c->count = all - first < 8 ? all - first : 8;
    c->step = all;
    for (int32_t k = 0; k < 2; k++)
        c->scales[k] = ek_scales_wasm(c->m + 4 * k * r->each, c->e + 4 * k * ek_exponents_wasm(r), r);
    ek_biases_wasm(c->bias, w, steps, b + first, is_shifted);
}

/* Pixels whose sums lie behind each other, two at a time. */
EK_INLINE void ek_pairs_wasm(const int32_t *sums, int8_t *y, const int32_t pixels,
    const struct ek_outputs_wasm *c, const int32_t is_relaxed, const int32_t is_signed,
    const struct ek_results_wasm *results)
{
    /* Copies, as y might be anywhere. */
    const struct ek_results_wasm copy = *results, *r = &copy;
    const struct ek_scales_wasm even = c->scales[0], odd = c->scales[1];
    const int32_t step = c->step, is_whole = c->count == 8;
    const v128_t lo = wasm_u8x16_splat((uint8_t)(r->lo + 128)), hi = wasm_u8x16_splat((uint8_t)(r->hi + 128));
#pragma clang loop unroll(disable)
    for (int32_t q = 0; q < pixels; q += 2, sums += 16) {
        const int32_t count = q + 1 < pixels ? 2 : 1, *second = sums + 8 * (count - 1);
        const v128_t z[4] = {ek_fixed_wasm(wasm_v128_load(sums), &even, is_relaxed, is_signed, r),
            ek_fixed_wasm(wasm_v128_load(sums + 4), &odd, is_relaxed, is_signed, r),
            ek_fixed_wasm(wasm_v128_load(second), &even, is_relaxed, is_signed, r),
            ek_fixed_wasm(wasm_v128_load(second + 4), &odd, is_relaxed, is_signed, r)};
        const v128_t least = wasm_u32x4_min(wasm_u32x4_min(ek_fraction_wasm(z[0]), ek_fraction_wasm(z[1])),
            wasm_u32x4_min(ek_fraction_wasm(z[2]), ek_fraction_wasm(z[3])));
        int8_t *const here = y + q * step, *const there = here + step * (count - 1);
        if (__builtin_expect(wasm_v128_any_true(wasm_i32x4_lt(least, wasm_i32x4_splat(4))), 0)) {
            ek_exact_wasm(sums, c->m, c->e, here, step, count, c->count, results);
            continue;
        }
        v128_t bytes = wasm_u8x16_narrow_i16x8(
            wasm_i16x8_narrow_i32x4(wasm_i32x4_shr(z[0], EK_POINT_WASM), wasm_i32x4_shr(z[1], EK_POINT_WASM)),
            wasm_i16x8_narrow_i32x4(
                wasm_i32x4_shr(z[2], EK_POINT_WASM), wasm_i32x4_shr(z[3], EK_POINT_WASM)));
        if (is_relaxed)
            bytes = wasm_u8x16_min(wasm_u8x16_max(bytes, lo), hi);
        bytes = wasm_v128_xor(bytes, wasm_i8x16_splat(-128));
        if (is_whole) {
            wasm_v128_store64_lane(here, bytes, 0);
            wasm_v128_store64_lane(there, bytes, 1);
        } else
            for (int32_t o = 0; o < c->count; o++) {
                here[o] = wasm_i8x16_extract_lane(bytes, 0);
                there[o] = wasm_i8x16_extract_lane(bytes, 8);
                bytes = wasm_u64x2_shr(bytes, 8);
            }
    }
}

EK_INLINE void ek_results_wasm(const int32_t *sums, int8_t *y, const int32_t pixels,
    const struct ek_outputs_wasm *c, const int32_t is_relaxed, const struct ek_results_wasm *r)
{
    if (ek_is_signed_wasm(r->kind, r->zero, r->lo))
        ek_pairs_wasm(sums, y, pixels, c, is_relaxed, 1, r);
    else
        ek_pairs_wasm(sums, y, pixels, c, is_relaxed, 0, r);
}

/* With sums of any size, or of small ones. */
static EK_SHARED void ek_two_results_wasm(const int32_t *sums, int8_t *y, int32_t pixels,
    const struct ek_outputs_wasm *c, const struct ek_results_wasm *r)
{
    ek_results_wasm(sums, y, pixels, c, 0, r);
}

#ifdef __wasm_relaxed_simd__
static EK_SHARED void ek_four_results_wasm(const int32_t *sums, int8_t *y, int32_t pixels,
    const struct ek_outputs_wasm *c, const struct ek_results_wasm *r)
{
    ek_results_wasm(sums, y, pixels, c, 1, r);
}
#endif

/* By the cells that a product takes. */
EK_INLINE void ek_finish_wasm(const int32_t *sums, int8_t *y, const int32_t pixels,
    const struct ek_outputs_wasm *c, const int32_t cells, const struct ek_results_wasm *r)
{
#ifdef __wasm_relaxed_simd__
    if (cells == 4) {
        ek_four_results_wasm(sums, y, pixels, c, r);
        return;
    }
#endif
    (void)cells;
    ek_two_results_wasm(sums, y, pixels, c, r);
}

#endif
