/* int8 PRelu with Helium. Eight numbers at once, whose slopes differ from number to number or from row to row.
 * @when sa[5] == 1 and sb[5] <= 1 and lo == -128 and hi == 127 @work inputs, positions */
#include "edgekit/contracts/prelu_s8.h"
#include "edgekit/loops/rows.h"

static EK_SHARED void EK_FN_row(
    const int8_t *a, const int16_t *b, int32_t step, int8_t *y, int32_t count, const struct EK_STRUCT *p)
{
    const int16x8_t positive = vdupq_n_s16((int16_t)p->positive);
    const int32x4_t constant = vdupq_n_s32(p->constant), shift = vdupq_n_s32(-p->shift);
    for (; count > 0; count -= 8, a += 8, b += 8 * step, y += 8) {
        const mve_pred16_t lanes = vctp16q((uint32_t)count);
        const int16x8_t u = vsubq_n_s16(vldrbq_z_s16(a, lanes), (int16_t)p->a_zero);
        const int16x8_t slopes = step > 0 ? vldrhq_z_s16(b, lanes) : vdupq_n_s16(*b);
        const int16x8_t g = vpselq_s16(positive, slopes, vcmpgeq_n_s16(u, 0));
        const int32x4_t even = vshlq_s32(vaddq_s32(vmullbq_int_s16(u, g), constant), shift);
        const int32x4_t odd = vshlq_s32(vaddq_s32(vmulltq_int_s16(u, g), constant), shift);
        ek_mve_store_halves(y, even, odd, 0, lanes);
    }
}

EK_KERNEL void EK_FN(const int8_t *a, const int16_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    EK_EACH_ROW(y, p)
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), EK_ROW_AT(b, p->b0, p->sb), p->sb[5], y, p->n[5], p);
}
