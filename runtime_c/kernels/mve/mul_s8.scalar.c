/* int8 product by rule E with Helium, of rows by one number each. Eight numbers at once.
 * @when sa[5] == 1 and sb[5] == 0 and lo == -128 and hi == 127 and exponent > 32
 * @work calls, inputs, long row blocks, positions */
#include "edgekit/contracts/mul_s8.h"
#include "edgekit/loops/rows.h"

static EK_SHARED void EK_FN_row(
    const int8_t *a, int32_t factor, int8_t *y, int32_t count, const struct EK_STRUCT *p)
{
    const int16x8_t v = vdupq_n_s16((int16_t)factor);
    const int32x4_t m = vdupq_n_s32(p->multiplier), shift = vdupq_n_s32(32 - p->exponent);
    for (; count > 0; count -= 8, a += 8, y += 8) {
        const mve_pred16_t lanes = vctp16q((uint32_t)count);
        const int16x8_t u = vsubq_n_s16(vldrbq_z_s16(a, lanes), (int16_t)p->a_zero);
        const int32x4_t even = ek_requantize_e_x4(vmullbq_int_s16(u, v), m, shift);
        const int32x4_t odd = ek_requantize_e_x4(vmulltq_int_s16(u, v), m, shift);
        ek_mve_store_halves(y, even, odd, p->zero, lanes);
    }
}

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    EK_EACH_ROW(y, p)
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), *EK_ROW_AT(b, p->b0, p->sb) - p->b_zero, y, p->n[5], p);
}
