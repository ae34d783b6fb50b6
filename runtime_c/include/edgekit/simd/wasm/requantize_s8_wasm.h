/* From sums of products of int8 to results, in WebAssembly: eight outputs of some pixels. One loop for all layers, behind
 * their products: modules are fetched. */
#ifndef EDGEKIT_REQUANTIZE_S8_WASM_H
#define EDGEKIT_REQUANTIZE_S8_WASM_H

#include "edgekit/simd/wasm/fixed_wasm.h"

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
        v128_t half = wasm_i32x4_splat(0);
        for (int32_t i = 0; is_shifted && i < steps; i++)
            half = ek_dot_wasm(half, wasm_v128_load(w + 32 * i), wasm_i8x16_splat(64), 4);
        bias[k] = wasm_i32x4_add(wasm_v128_load(b + 4 * k), wasm_i32x4_shl(half, 1));
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

/* Sums of `pixels`, by the scalar rule. */
static EK_SHARED EK_SMALL_WASM void ek_exact_wasm(const int32_t *sum, int8_t *y, int32_t pixels,
    const struct ek_outputs_wasm *c, const struct ek_results_wasm *r)
{
    for (int32_t q = 0; q < pixels; q++)
        for (int32_t o = 0; o < c->count; o++) {
            const int32_t z = r->rule(sum[8 * q + o], c->m[o * r->each], c->e[o * ek_exponents_wasm(r)]);
            y[q * c->step + o] = ek_clamp_s8(r->zero + z, r->lo, r->hi);
        }
}

/* The first n of eight bytes. */
EK_INLINE void ek_store_some_wasm(int8_t *y, v128_t bytes, const int32_t n)
{
    if (n == 8) {
        wasm_v128_store64_lane(y, bytes, 0);
        return;
    }
    if (n & 4) {
        wasm_v128_store32_lane(y, bytes, 0);
        bytes = wasm_u64x2_shr(bytes, 32);
        y += 4;
    }
    if (n & 2) {
        wasm_v128_store16_lane(y, bytes, 0);
        bytes = wasm_u64x2_shr(bytes, 16);
        y += 2;
    }
    if (n & 1)
        wasm_v128_store8_lane(y, bytes, 0);
}

/* Pixels whose sums lie behind each other, two at a time. */
EK_INLINE void ek_pairs_wasm(const int32_t *sums, int8_t *y, const int32_t pixels,
    const struct ek_outputs_wasm *c, const int32_t is_signed, const struct ek_results_wasm *r)
{
    /* Copies, as y might be anywhere. */
    const v128_t factor[2] = {c->scales[0].factor, c->scales[1].factor};
    const v128_t offset[2] = {c->scales[0].offset, c->scales[1].offset};
    const v128_t nudge[2] = {c->scales[0].nudge, c->scales[1].nudge};
    const v128_t lo = wasm_i8x16_splat((int8_t)r->lo), hi = wasm_i8x16_splat((int8_t)r->hi);
    const int32_t step = c->step, outputs = c->count;
    v128_t large = wasm_i16x8_splat(EK_LARGE_WASM >> EK_POINT_WASM);
    EK_IN_ORDER(large) /* a constant outside the loop, which engines make anew wherever it is used */
    /* Of an odd number the last has one beside it that is not there: what lies behind sums can be read. */
    const int8_t *const end = y + pixels * step;
    EK_ROLLED_FOR(; y < end; sums += 16, y += 2 * step) {
        const v128_t z[4] = {ek_fixed_wasm(wasm_v128_load(sums), factor[0], offset[0], nudge[0], is_signed),
            ek_fixed_wasm(wasm_v128_load(sums + 4), factor[1], offset[1], nudge[1], is_signed),
            ek_fixed_wasm(wasm_v128_load(sums + 8), factor[0], offset[0], nudge[0], is_signed),
            ek_fixed_wasm(wasm_v128_load(sums + 12), factor[1], offset[1], nudge[1], is_signed)};
        const v128_t least = wasm_u32x4_min(wasm_u32x4_min(ek_fraction_wasm(z[0]), ek_fraction_wasm(z[1])),
            wasm_u32x4_min(ek_fraction_wasm(z[2]), ek_fraction_wasm(z[3])));
        if (__builtin_expect(ek_is_close_wasm(least, 2), 0)) {
            ek_exact_wasm(sums, y, end - y > step ? 2 : 1, c, r);
            continue;
        }
        v128_t bytes =
            wasm_i8x16_narrow_i16x8(ek_whole_wasm(z[0], z[1], large), ek_whole_wasm(z[2], z[3], large));
        bytes = wasm_i8x16_min(wasm_i8x16_max(bytes, lo), hi);
        ek_store_some_wasm(y, bytes, outputs);
        if (end - y > step)
            ek_store_some_wasm(y + step, wasm_i64x2_shuffle(bytes, bytes, 1, 1), outputs);
    }
}

static EK_SHARED void ek_finish_wasm(const int32_t *sums, int8_t *y, int32_t pixels,
    const struct ek_outputs_wasm *c, const struct ek_results_wasm *r)
{
    if (ek_is_signed_wasm(r->kind, r->zero, r->lo))
        ek_pairs_wasm(sums, y, pixels, c, 1, r);
    else
        ek_pairs_wasm(sums, y, pixels, c, 0, r);
}

#endif
