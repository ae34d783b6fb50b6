/* int8 filter with Helium. Sixteen results advance together, see rows_mve.h; the zero point comes off at the end.
 * @rule e tfl @when inner >= 4 and (exponent <= 0 or exponent > 32) @work filter taps, products */
#include "edgekit/contracts/resample_s8.h"

EK_INLINE void EK_FN_store(int32x4_t sum, int32_t total, int8_t *y, int32_t count, const struct EK_STRUCT *p)
{
    const int32x4_t centred = vsubq_n_s32(sum, p->x_zero * total);
    ek_mve_store_x4(y, EK_RULE(same_x4)(centred, p->multiplier, p->exponent), p->zero, p->lo, p->hi, count);
}

/* All results of one position. */
static EK_SHARED void EK_FN_position(
    const int8_t *x, const int32_t *index, const int16_t *w, int8_t *y, const struct EK_STRUCT *p)
{
    int32_t total = 0, i = 0;
    for (int32_t k = 0; k < p->taps; k++)
        total += w[k];
    for (; i + 16 <= p->inner; i += 16) {
        struct ek_mve_sums sums;
        ek_mve_start_x16(&sums);
        for (int32_t k = 0; k < p->taps; k++)
            ek_mve_row_x16(&sums, x + index[k] * p->inner + i, w[k]);
        EK_FN_store(sums.s0, total, y + i, 4, p);
        EK_FN_store(sums.s1, total, y + i + 4, 4, p);
        EK_FN_store(sums.s2, total, y + i + 8, 4, p);
        EK_FN_store(sums.s3, total, y + i + 12, 4, p);
    }
    for (; i < p->inner; i += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)(p->inner - i));
        int32x4_t sum = vdupq_n_s32(0);
        for (int32_t k = 0; k < p->taps; k++)
            sum = ek_mve_row_x4(sum, x + index[k] * p->inner + i, w[k], lanes);
        EK_FN_store(sum, total, y + i, p->inner - i, p);
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const int32_t *EK_RESTRICT index,
    const int16_t *EK_RESTRICT w, int8_t *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t o = 0; o < p->outer; o++, x += p->in_n * p->inner)
        for (int32_t j = 0; j < p->out_n; j++, y += p->inner)
            EK_FN_position(x, index + j * p->taps, w + j * p->taps, y, p);
}
