/* int16 to int8 by rule E with Helium. Eight numbers at once.
 * @for A=s16 Y=s8 @when exponent > 32 @work inputs, positions */
#include "edgekit/contracts/requantize.h"

EK_KERNEL void EK_FN(const EK_A *x, EK_Y *y, const struct EK_STRUCT *p)
{
    const int32x4_t m = vdupq_n_s32(p->multiplier), shift = vdupq_n_s32(32 - p->exponent);
    for (int32_t left_over = p->n; left_over > 0; left_over -= 8, x += 8, y += 8) {
        const mve_pred16_t lanes = vctp16q((uint32_t)left_over);
        const int16x8_t u = vldrhq_z_s16(x, lanes);
        const int32x4_t even = vsubq_n_s32(vmovlbq_s16(u), p->x_zero);
        const int32x4_t odd = vsubq_n_s32(vmovltq_s16(u), p->x_zero);
        ek_mve_store_halves(
            y, ek_requantize_e_x4(even, m, shift), ek_requantize_e_x4(odd, m, shift), p->zero, lanes);
    }
}
