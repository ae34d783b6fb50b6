/* Reals to int8, halves to the even integer, with Helium. Integers beyond 32 bits saturate.
 * @for Y=s8 @work calls, inputs */
/* Reals to int16, halves to the even integer, with Helium.
 * @as mve/quantize_s16 Y=s16 @work inputs, positions */
/* Reals to int16, halves away from zero, with Helium.
 * @as mve/quantize_tfl_s16 Y=s16 even=away */
/* Reals to int8, halves away from zero, with Helium.
 * @as mve/quantize_tfl_s8 even=away @work inputs, positions */
#include "edgekit/contracts/quantize.h"

static EK_SHARED void EK_FN_run(const float *x, EK_Y *y, const struct EK_STRUCT *p)
{
    const float32x4_t scale = vdupq_n_f32(p->scale);
    for (int32_t left_over = p->n; left_over > 0; left_over -= 4, x += 4, y += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)left_over);
        const float32x4_t v = vldrwq_z_f32(x, lanes) / scale;
        const int32x4_t sum = vqaddq_n_s32(ek_even_x4(v), p->zero);
        const int32x4_t most = vminq_s32(sum, vdupq_n_s32(p->hi));
        const int32x4_t result = vmaxq_s32(most, vdupq_n_s32(p->lo));
        /* Behind infinity there are no numbers. */
        const uint32x4_t size = vshlq_n_u32(vreinterpretq_u32_f32(v), 1);
        const int32x4_t number = vpselq_s32(vdupq_n_s32(0), result, vcmphiq_n_u32(size, 0xFF000000u));
        if (sizeof(EK_Y) == 1)
            vstrbq_p_s32((int8_t *)(void *)y, number, lanes);
        else
            vstrhq_p_s32((int16_t *)(void *)y, number, lanes);
    }
}

EK_KERNEL void EK_FN(const float *x, EK_Y *y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, y, p);
}
