/* Fully connected layer of integers. Sixteen outputs advance together.
 * @pack w: O/16 I o16 @order rows 16
 * @loads w: rows
 * @work clamped outputs, inputs, odd outputs, outputs, padded products, products by 32 outputs */
#include "edgekit/contracts/dense_int.h"

/* `width` outputs of one row, from output `first` on; two products at a time: see EK_PAIR_s8. */
EK_INLINE void EK_FN_block(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, const int32_t first,
    const int32_t width, const struct EK_STRUCT *p)
{
    const int32_t at = first * p->inputs;
    EK_S sum[16];
    for (int32_t o = 0; o < width; o++)
        sum[o] = b[first + o];
    int32_t i = 0;
    for (; i + 1 < p->inputs; i += 2) {
        const int32_t t = -x[i], u = -x[i + 1], even = at + i * width, odd = even + width;
        EK_SIDE_BY_SIDE
        for (int32_t o = 0; o < width; o++)
            sum[o] -= EK_PAIR_X(t * EK_AT_W(w, even + o) + u * EK_AT_W(w, odd + o));
    }
    if (i < p->inputs) {
        const int32_t t = x[i], last = at + i * width;
        EK_SIDE_BY_SIDE
        for (int32_t o = 0; o < width; o++)
            sum[o] += t * EK_AT_W(w, last + o);
    }
    const int32_t zero = p->zero, lo = p->lo, hi = p->hi; /* once: y may point anywhere */
    for (int32_t k = 0; k < width; k++) {
        const EK_S acc = sum[k];
        const int32_t o = first + k;
        y[k] = EK_STORE_Y(ek_clamp_s32(zero + EK_EXPR, lo, hi));
    }
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs)
        for (int32_t first = 0; first < p->outputs; first += 16) {
            const int32_t left_over = p->outputs - first;
            const int32_t width = left_over < 16 ? left_over : 16;
            if (width == 16)
                EK_FN_block(x, w, b, m, e, y, first, 16, p);
            else
                EK_FN_block(x, w, b, m, e, y, first, width, p);
            y += width;
        }
}
