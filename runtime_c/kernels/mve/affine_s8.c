/* int8 sum or difference by rule E with Helium. Four numbers that lie side by side at once.
 * @when sa[5] == 1 and sb[5] == 1 and lo == -128 and hi == 127 @work outputs, positions */
#include "edgekit/contracts/affine_s8.h"
#include "edgekit/loops/rows.h"

static EK_SHARED void EK_FN_row(
    const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const struct EK_STRUCT *p)
{
    const int32x4_t constant = vdupq_n_s32(p->constant), shift = vdupq_n_s32(-p->shift);
    for (; count > 0; count -= 4, a += 4, b += 4, y += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)count);
        int32x4_t sum = vmlaq_n_s32(constant, vldrbq_z_s32(a, lanes), p->first);
        sum = vshlq_s32(vmlaq_n_s32(sum, vldrbq_z_s32(b, lanes), p->second), shift);
        ek_mve_store_nearest(y, sum, lanes);
    }
}

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    EK_EACH_ROW(y, p)
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), EK_ROW_AT(b, p->b0, p->sb), y, p->n[5], p);
}
