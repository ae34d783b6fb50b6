/* Fully connected layer of integers: see dense_int.h. Sixteen outputs advance together.
 * pack w: O/16 I o16 */
#include "edgekit/dense_int.h"

EK_INLINE void EK_FN_sum(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, EK_S *EK_RESTRICT sum,
    const int32_t at, const int32_t width, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->inputs; i++) {
        EK_SIDE_BY_SIDE
        for (int32_t o = 0; o < width; o++)
            sum[o] += x[i] * EK_AT_W(w, at + i * width + o);
    }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs)
        for (int32_t first = 0; first < p->outputs; first += 16) {
            const int32_t left_over = p->outputs - first;
            EK_S sum[16];
            const int32_t width = left_over < 16 ? left_over : 16;
            for (int32_t o = 0; o < width; o++)
                sum[o] = b[first + o];
            if (width == 16)
                EK_FN_sum(x, w, sum, first * p->inputs, 16, p);
            else
                EK_FN_sum(x, w, sum, first * p->inputs, width, p);
            for (int32_t k = 0; k < width; k++) {
                const EK_S acc = sum[k];
                const int32_t o = first + k;
                *y++ = EK_STORE_Y(ek_clamp_s32(p->zero + EK_EXPR, p->lo, p->hi));
            }
        }
}
