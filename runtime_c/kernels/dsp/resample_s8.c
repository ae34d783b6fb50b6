/* int8 filter by rule E with DSP instructions. The sums of four results stay in registers; they start with what the
 * zero point takes off.
 * @when exponent > 32 and lo == -128 and hi == 127 @work filter taps, products */
#include "edgekit/contracts/resample_s8.h"

/* All results of one position. */
static EK_SHARED void EK_FN_position(
    const int8_t *x, const int32_t *index, const int16_t *w, int8_t *y, const struct EK_STRUCT *p)
{
    const int32_t inner = p->inner, taps = p->taps;
    const struct ek_scale scale = ek_scale_e(p->multiplier, p->exponent, p->zero);
    int32_t start = 0, i = 0;
    for (int32_t k = 0; k < taps; k++)
        start -= p->x_zero * w[k];
    for (; i + 4 <= inner; i += 4) {
        int32_t s0 = start, s1 = start, s2 = start, s3 = start;
        for (int32_t k = 0; k < taps; k++) {
            const int8_t *from = x + index[k] * inner + i;
            const int32_t weight = w[k];
            s0 += weight * from[0];
            s1 += weight * from[1];
            s2 += weight * from[2];
            s3 += weight * from[3];
        }
        y[i] = ek_scaled_small_s8(s0, &scale);
        y[i + 1] = ek_scaled_small_s8(s1, &scale);
        y[i + 2] = ek_scaled_small_s8(s2, &scale);
        y[i + 3] = ek_scaled_small_s8(s3, &scale);
    }
    for (; i < inner; i++) {
        int32_t sum = start;
        for (int32_t k = 0; k < taps; k++)
            sum += w[k] * x[index[k] * inner + i];
        y[i] = ek_scaled_small_s8(sum, &scale);
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const int32_t *EK_RESTRICT index,
    const int16_t *EK_RESTRICT w, int8_t *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t o = 0; o < p->outer; o++, x += p->in_n * p->inner)
        for (int32_t j = 0; j < p->out_n; j++, y += p->inner)
            EK_FN_position(x, index + j * p->taps, w + j * p->taps, y, p);
}
