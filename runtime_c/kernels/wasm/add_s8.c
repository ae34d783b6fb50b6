/* int8 sum or difference of rows: see fixed_wasm.h. Eight numbers advance together. Factors of operands are below 8,
 * so that floats are right to 6/8192; what is rounded on the common scale, finer by 2^16, is in that.
 * @when sa[5] == 1 and sb[5] == 1 and exponent <= -16 and a_exponent + exponent <= -17
 * @when b_exponent + exponent <= -17 */
#include "edgekit/contracts/add_s8.h"
#include "edgekit/loops/rows.h"

/* Four numbers in fixed point; 8/8192 are added, so that a fraction of 16/8192 or more says that the rest is exact. */
EK_INLINE v128_t EK_FN_four(
    const v128_t a, const v128_t b, const float of_a, const float of_b, const int32_t zero)
{
    const v128_t u = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(a), wasm_f32x4_splat(of_a));
    const v128_t v = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(b), wasm_f32x4_splat(of_b));
    return wasm_f32x4_add(wasm_f32x4_add(u, v), ek_offset_wasm(zero, 8));
}

/* By the scalar rules; apart, as it is hardly ever run. */
static EK_SHARED EK_SMALL_WASM void EK_FN_exact(
    const int8_t *a, const int8_t *b, int8_t *y, const int32_t n, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < n; i++) {
        const int32_t wide_a = (a[i] - p->a_zero) * (1 << 20), wide_b = (b[i] - p->b_zero) * (1 << 20);
        const int32_t sum = ek_requantize_tfl(wide_a, p->a_multiplier, p->a_exponent)
                            + p->sign * ek_requantize_tfl(wide_b, p->b_multiplier, p->b_exponent);
        y[i] = ek_clamp_s8(p->zero + ek_requantize_tfl(sum, p->multiplier, p->exponent), p->lo, p->hi);
    }
}

EK_INLINE void EK_FN_row(const int8_t *a, const int8_t *b, int8_t *y, const int32_t n, const float of_a,
    const float of_b, const struct EK_STRUCT *p)
{
    const v128_t zero_a = wasm_i16x8_splat((int16_t)p->a_zero), zero_b = wasm_i16x8_splat((int16_t)p->b_zero);
    const v128_t lo = wasm_i8x16_splat((int8_t)p->lo), hi = wasm_i8x16_splat((int8_t)p->hi);
    int32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const v128_t u = wasm_i16x8_sub(wasm_i16x8_load8x8(a + i), zero_a);
        const v128_t v = wasm_i16x8_sub(wasm_i16x8_load8x8(b + i), zero_b);
        const v128_t low =
            EK_FN_four(wasm_i32x4_extend_low_i16x8(u), wasm_i32x4_extend_low_i16x8(v), of_a, of_b, p->zero);
        const v128_t high =
            EK_FN_four(wasm_i32x4_extend_high_i16x8(u), wasm_i32x4_extend_high_i16x8(v), of_a, of_b, p->zero);
        if (__builtin_expect(
                ek_is_close_wasm(wasm_u32x4_min(ek_fraction_wasm(low), ek_fraction_wasm(high)), 4), 0))
            EK_FN_exact(a + i, b + i, y + i, 8, p);
        else {
            const v128_t whole = ek_whole_wasm(low, high, wasm_i16x8_splat(EK_LARGE_WASM >> EK_POINT_WASM));
            const v128_t bytes = wasm_i8x16_narrow_i16x8(whole, whole);
            wasm_v128_store64_lane(y + i, wasm_i8x16_min(wasm_i8x16_max(bytes, lo), hi), 0);
        }
    }
    if (i < n)
        EK_FN_exact(a + i, b + i, y + i, n - i, p);
}

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    const double scale = (double)p->multiplier * (double)ek_power_wasm(p->exponent + 20 + EK_POINT_WASM - 62)
                         * (double)ek_power_wasm(EK_LAST_WASM);
    const double scale_a = (double)p->a_multiplier * (double)ek_power_wasm(p->a_exponent);
    const double scale_b = (double)p->b_multiplier * (double)ek_power_wasm(p->b_exponent);
    const float of_a = (float)(scale * scale_a), of_b = (float)(scale * scale_b * (double)p->sign);
    y += p->y0;
    EK_EACH_ROW(y, p)
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), EK_ROW_AT(b, p->b0, p->sb), y, p->n[5], of_a, of_b, p);
}
