/* int8 product by rule E with Helium. Eight numbers that lie side by side at once.
 * @when sa[5] == 1 and sb[5] == 1 and lo == -128 and hi == 127 and exponent > 32
 * @work inputs, outputs, positions, short row cells */
#include "edgekit/contracts/mul_s8.h"
#include "edgekit/loops/rows.h"

EK_INLINE int32x4_t EK_FN_scaled(const int32x4_t product, const struct EK_STRUCT *p)
{
    return vrshlq_n_s32(vmulhq_s32(product, vdupq_n_s32(p->multiplier)), 32 - p->exponent);
}

static EK_SHARED void EK_FN_row(
    const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const struct EK_STRUCT *p)
{
    for (; count > 0; count -= 8, a += 8, b += 8, y += 8) {
        const mve_pred16_t lanes = vctp16q((uint32_t)count);
        const int16x8_t u = vsubq_n_s16(vldrbq_z_s16(a, lanes), (int16_t)p->a_zero);
        const int16x8_t v = vsubq_n_s16(vldrbq_z_s16(b, lanes), (int16_t)p->b_zero);
        const int32x4_t even = EK_FN_scaled(vmullbq_int_s16(u, v), p);
        const int32x4_t odd = EK_FN_scaled(vmulltq_int_s16(u, v), p);
        ek_mve_store_halves(y, even, odd, p->zero, lanes);
    }
}

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    EK_EACH_ROW(y, p)
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), EK_ROW_AT(b, p->b0, p->sb), y, p->n[5], p);
}
