/* int8 sum or difference of rows: see affine_s8.h. Sixteen numbers advance together.
 * @when sa[5] == 1 and sb[5] == 1 */
#include "edgekit/contracts/affine_s8.h"
#include "edgekit/loops/rows.h"

#include <wasm_simd128.h>

/* Four numbers, before they are narrowed. */
EK_INLINE v128_t EK_FN_four(const v128_t a, const v128_t b, const struct EK_STRUCT *p)
{
    const v128_t u = wasm_i32x4_mul(a, wasm_i32x4_splat(p->first));
    const v128_t v = wasm_i32x4_mul(b, wasm_i32x4_splat(p->second));
    return wasm_i32x4_shr(
        wasm_i32x4_add(wasm_i32x4_add(u, wasm_i32x4_splat(p->constant)), v), (uint32_t)p->shift);
}

/* Eight, as 16 bits. */
EK_INLINE v128_t EK_FN_eight(const int8_t *a, const int8_t *b, const struct EK_STRUCT *p)
{
    const v128_t u = wasm_i16x8_load8x8(a), v = wasm_i16x8_load8x8(b);
    return wasm_i16x8_narrow_i32x4(
        EK_FN_four(wasm_i32x4_extend_low_i16x8(u), wasm_i32x4_extend_low_i16x8(v), p),
        EK_FN_four(wasm_i32x4_extend_high_i16x8(u), wasm_i32x4_extend_high_i16x8(v), p));
}

/* One row of `size` elements; y may be a or b. Once for all layers: modules are fetched. */
static EK_SHARED void EK_FN_row(
    const int8_t *a, const int8_t *b, int8_t *y, const int32_t size, const struct EK_STRUCT *given)
{
    const struct EK_STRUCT copy = *given, *p = &copy; /* y might be anywhere */
    const v128_t lo = wasm_i8x16_splat((int8_t)p->lo), hi = wasm_i8x16_splat((int8_t)p->hi);
    int32_t i = 0;
    for (; i + 16 <= size; i += 16) {
        const v128_t z =
            wasm_i8x16_narrow_i16x8(EK_FN_eight(a + i, b + i, p), EK_FN_eight(a + i + 8, b + i + 8, p));
        wasm_v128_store(y + i, wasm_i8x16_min(wasm_i8x16_max(z, lo), hi));
    }
    for (; i < size; i++)
        y[i] = ek_clamp_s8((a[i] * p->first + b[i] * p->second + p->constant) >> p->shift, p->lo, p->hi);
}

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    EK_EACH_ROW(y, p)
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), EK_ROW_AT(b, p->b0, p->sb), y, p->n[5], p);
}
