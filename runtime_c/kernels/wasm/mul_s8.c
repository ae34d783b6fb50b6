/* int8 product: see mul_s8.h. Products of numbers side by side, or with one for all of a row, become results as the sums of
 * layers do: eight are like the outputs of a pixel, with one scale.
 * @rule e e_wide tfl
 * @when sa[5] == 1 and sb[5] in (0, 1) */
#include "edgekit/contracts/mul_s8.h"
#include "edgekit/loops/rows.h"

/* Eight products. */
EK_INLINE void EK_FN_eight(int32_t *products, const v128_t a, const v128_t b, const struct EK_STRUCT *p)
{
    const v128_t u = wasm_i16x8_sub(a, wasm_i16x8_splat((int16_t)p->a_zero));
    const v128_t v = wasm_i16x8_sub(b, wasm_i16x8_splat((int16_t)p->b_zero));
    wasm_v128_store(products, wasm_i32x4_extmul_low_i16x8(u, v));
    wasm_v128_store(products + 4, wasm_i32x4_extmul_high_i16x8(u, v));
}

/* A row of any length; y may be a or b. */
EK_INLINE void EK_FN_row(const int8_t *a, const int8_t *b, int8_t *y, const int32_t n,
    const struct ek_outputs_wasm *outputs, const struct ek_results_wasm *r, const struct EK_STRUCT *p)
{
    const v128_t same = wasm_i16x8_splat(b[0]);
    int32_t products[8 * EK_HELD_WASM], i = 0;
    while (i + 8 <= n) {
        int32_t held = 0;
        for (; held < EK_HELD_WASM && i + 8 * held + 8 <= n; held++) {
            const int32_t at = i + 8 * held;
            EK_FN_eight(products + 8 * held, wasm_i16x8_load8x8(a + at),
                p->sb[5] ? wasm_i16x8_load8x8(b + at) : same, p);
        }
        ek_finish_wasm(products, y + i, held, outputs, r);
        i += 8 * held;
    }
    for (; i < n; i++) {
        const int32_t acc = (a[i] - p->a_zero) * (b[i * p->sb[5]] - p->b_zero);
        y[i] = ek_clamp_s8(p->zero + r->rule(acc, p->multiplier, p->exponent), p->lo, p->hi);
    }
}

/* Once for all layers: modules are fetched. */
static EK_SHARED void EK_FN_all(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    const int8_t exponent = (int8_t)p->exponent;
    const int32_t m[4] = {p->multiplier, p->multiplier, p->multiplier, p->multiplier};
    const int8_t e[4] = {exponent, exponent, exponent, exponent};
    const struct ek_results_wasm r = {EK_RULE(one), EK_RULE(kind)(), EK_ONE_SCALE, p->zero, p->lo, p->hi};
    const struct ek_scales_wasm scales = ek_scales_wasm(m, e, &r);
    const struct ek_outputs_wasm outputs = {
        {wasm_i32x4_splat(0), wasm_i32x4_splat(0)}, {scales, scales}, m, e, 8, 8};
    y += p->y0;
    EK_EACH_ROW(y, p)
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), EK_ROW_AT(b, p->b0, p->sb), y, p->n[5], &outputs, &r, p);
}

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    EK_FN_all(a, b, y, p);
}
