/* A filter at positions of its own along one dimension. Sixteen results advance together, so that compilers vectorise
 * over them and every result is still summed in the order of k.
 * @work filter taps, products */
#include "edgekit/contracts/resample.h"

EK_INLINE void EK_FN_block(const EK_T *EK_RESTRICT x, const int32_t *EK_RESTRICT index,
    const EK_T *EK_RESTRICT w, EK_T *EK_RESTRICT y, const int32_t width, const struct EK_STRUCT *p)
{
    EK_T_ACC sum[16];
    for (int32_t i = 0; i < width; i++)
        sum[i] = 0;
    for (int32_t k = 0; k < p->taps; k++) {
        const EK_T *from = x + index[k] * p->inner;
        const EK_T_ACC weight = EK_LOAD_T(w[k]);
        EK_SIDE_BY_SIDE
        for (int32_t i = 0; i < width; i++)
            sum[i] += weight * EK_LOAD_T(from[i]);
    }
    for (int32_t i = 0; i < width; i++)
        y[i] = EK_STORE_T(sum[i]);
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const int32_t *EK_RESTRICT index, const EK_T *EK_RESTRICT w,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t o = 0; o < p->outer; o++, x += p->in_n * p->inner)
        for (int32_t j = 0; j < p->out_n; j++, y += p->inner) {
            const int32_t *at = index + j * p->taps;
            const EK_T *weights = w + j * p->taps;
            int32_t i = 0;
            for (; i + 16 <= p->inner; i += 16)
                EK_FN_block(x + i, at, weights, y + i, 16, p);
            if (i < p->inner)
                EK_FN_block(x + i, at, weights, y + i, p->inner - i, p);
        }
}
