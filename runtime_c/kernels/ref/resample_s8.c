/* int8 filter at positions of its own along one dimension. Sixteen results advance together.
 * @work filter taps, products */
#include "edgekit/contracts/resample_s8.h"

EK_INLINE void EK_FN_block(const int8_t *EK_RESTRICT x, const int32_t *EK_RESTRICT index,
    const int16_t *EK_RESTRICT w, int8_t *EK_RESTRICT y, const int32_t width, const struct EK_STRUCT *p)
{
    int32_t sum[16];
    for (int32_t i = 0; i < width; i++)
        sum[i] = 0;
    for (int32_t k = 0; k < p->taps; k++) {
        const int8_t *from = x + index[k] * p->inner;
        const int32_t weight = w[k];
        EK_SIDE_BY_SIDE
        for (int32_t i = 0; i < width; i++)
            sum[i] += weight * (from[i] - p->x_zero);
    }
    for (int32_t i = 0; i < width; i++) {
        const int32_t acc = sum[i];
        y[i] = ek_clamp_s8(p->zero + EK_EXPR, p->lo, p->hi);
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const int32_t *EK_RESTRICT index,
    const int16_t *EK_RESTRICT w, int8_t *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t o = 0; o < p->outer; o++, x += p->in_n * p->inner)
        for (int32_t j = 0; j < p->out_n; j++, y += p->inner) {
            const int32_t *at = index + j * p->taps;
            const int16_t *weights = w + j * p->taps;
            int32_t i = 0;
            for (; i + 16 <= p->inner; i += 16)
                EK_FN_block(x + i, at, weights, y + i, 16, p);
            if (i < p->inner)
                EK_FN_block(x + i, at, weights, y + i, p->inner - i, p);
        }
}
