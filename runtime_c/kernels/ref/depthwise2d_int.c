/* Depthwise convolution of integers. Sixteen channels of a pixel advance together.
 * @pack w: H W O I @order pixels 16
 * @loads w: batch * out_h * out_w
 * @work border cells, output window lines, output windows, outputs, parted window lines
 * @work products by 64 outputs, tap 4-vectors, weights */
#include "edgekit/contracts/depthwise2d_int.h"

/* `width` channels of one pixel, from channel `first` on. */
EK_INLINE void EK_FN_block(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, const int32_t first,
    const int32_t top, const int32_t left, const int32_t width, const struct EK_STRUCT *p)
{
    const int32_t multiplier = p->out_c / p->in_c;
    int32_t at = first;
    EK_S sum[16];
    for (int32_t o = 0; o < width; o++)
        sum[o] = b[first + o];
    for (int32_t i = 0; i < p->k_h; i++)
        for (int32_t j = 0; j < p->k_w; j++, at += p->out_c) {
            const int32_t row = top + i * p->dilation_h, column = left + j * p->dilation_w;
            const EK_X *cell = x + (row * p->in_w + column) * p->in_c;
            if (row < 0 || row >= p->in_h || column < 0 || column >= p->in_w) {
                EK_SIDE_BY_SIDE
                for (int32_t o = 0; o < width; o++)
                    sum[o] += p->in_zero * EK_AT_W(w, at + o);
            } else if (multiplier == 1) {
                EK_SIDE_BY_SIDE
                for (int32_t o = 0; o < width; o++)
                    sum[o] += cell[first + o] * EK_AT_W(w, at + o);
            } else if (p->in_c == 1) {
                EK_SIDE_BY_SIDE
                for (int32_t o = 0; o < width; o++)
                    sum[o] += cell[0] * EK_AT_W(w, at + o);
            } else
                for (int32_t o = 0; o < width; o++)
                    sum[o] += cell[(first + o) / multiplier] * EK_AT_W(w, at + o);
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
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++) {
                const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
                for (int32_t first = 0; first < p->out_c; first += 16) {
                    const int32_t left_over = p->out_c - first;
                    const int32_t width = left_over < 16 ? left_over : 16;
                    if (width == 16)
                        EK_FN_block(x, w, b, m, e, y, first, top, left, 16, p);
                    else
                        EK_FN_block(x, w, b, m, e, y, first, top, left, width, p);
                    y += width;
                }
            }
}
