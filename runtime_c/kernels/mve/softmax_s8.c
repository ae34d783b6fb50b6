/* int8 softmax with Helium. Exponentials are gathered from their table, eight for the sum and four for the shares.
 * @work calls, inputs, positions */
#include "edgekit/contracts/softmax_s8.h"

static EK_SHARED void EK_FN_row(const int8_t *x, const uint16_t *e, int8_t *y, int32_t n)
{
    const int32_t most = ek_mve_largest(x, n);
    uint32_t sum = 0;
    for (int32_t i = 0; i < n; i += 8) {
        const mve_pred16_t lanes = vctp16q((uint32_t)(n - i));
        const int16x8_t below = vsubq_s16(vdupq_n_s16((int16_t)most), vldrbq_z_s16(x + i, lanes));
        sum = vaddvaq_u16(sum, vldrhq_gather_shifted_offset_z_u16(e, vreinterpretq_u16_s16(below), lanes));
    }
    const uint32_t bits = sum >> 16 ? 16 - (uint32_t)__builtin_clz(sum) : 0;
    const uint32x4_t reciprocal = vdupq_n_u32(0x80000000u / ((sum + (1u << bits >> 1)) >> bits));
    const int32_t down = bits > 8 ? (int32_t)bits - 8 : 0, shift = bits > 8 ? 31 : 23 + (int32_t)bits;
    for (int32_t i = 0; i < n; i += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)(n - i));
        const int32x4_t below = vsubq_s32(vdupq_n_s32(most), vldrbq_z_s32(x + i, lanes));
        const uint32x4_t part = vldrhq_gather_shifted_offset_z_u32(e, vreinterpretq_u32_s32(below), lanes);
        const uint32x4_t share = vrshlq_n_u32(vshlq_r_u32(vmulq_u32(part, reciprocal), -down), -shift);
        const uint32x4_t result = vminq_u32(share, vdupq_n_u32(255));
        vstrbq_p_s32(y + i, vsubq_n_s32(vreinterpretq_s32_u32(result), 128), lanes);
    }
}

EK_KERNEL void EK_FN(const int8_t *x, const uint16_t *e, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n)
        EK_FN_row(x, e, y, p->n);
}
