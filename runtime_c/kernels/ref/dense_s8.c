/* int8 fully connected layer: see dense_s8.h. Sixteen outputs advance together.
 * pack w: O/16 I o16 */
#include "edgekit/dense_s8.h"

EK_INLINE void EK_FN_sum(const int8_t *EK_RESTRICT x, const int8_t *EK_RESTRICT w, int32_t *EK_RESTRICT sum,
    const int32_t width, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->inputs; i++) {
        EK_SIDE_BY_SIDE
        for (int32_t o = 0; o < width; o++)
            sum[o] += x[i] * w[i * width + o];
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, int8_t *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs)
        for (int32_t first = 0; first < p->outputs; first += 16) {
            const int32_t left_over = p->outputs - first;
            int32_t sum[16];
            const int32_t width = left_over < 16 ? left_over : 16;
            for (int32_t o = 0; o < width; o++)
                sum[o] = b[first + o];
            if (width == 16)
                EK_FN_sum(x, w + first * p->inputs, sum, 16, p);
            else
                EK_FN_sum(x, w + first * p->inputs, sum, width, p);
            for (int32_t k = 0; k < width; k++) {
                const int32_t acc = sum[k], o = first + k;
                *y++ = ek_clamp_s8(p->zero + EK_EXPR, p->lo, p->hi);
            }
        }
}
