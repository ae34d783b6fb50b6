/* Convolution of integers. Sixteen outputs of a pixel advance together.
 * @also conv2d_add_int @pack w: G O/16 H W I o16 @order pixels 16
 * @loads w: batch * out_h * out_w
 * @work border cells, odd outputs, output windows, outputs, paired products, parted cells inside, products
 * @work products by 16-vectors */
#include "edgekit/contracts/conv2d_int.h"

/* Adds `depth` products to each of `width` sums, two at a time: see EK_PAIR_s8. */
EK_INLINE void EK_FN_cell(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, EK_S *EK_RESTRICT sum,
    const int32_t at, const int32_t width, const int32_t depth, const int32_t step)
{
    int32_t c = 0;
    for (; c + 1 < depth; c += 2) {
        const int32_t t = -x[c * step], u = -x[(c + 1) * step], even = at + c * width, odd = even + width;
        EK_SIDE_BY_SIDE
        for (int32_t o = 0; o < width; o++)
            sum[o] -= EK_PAIR_X(t * EK_AT_W(w, even + o) + u * EK_AT_W(w, odd + o));
    }
    if (c < depth) {
        const int32_t t = x[c * step], last = at + c * width;
        EK_SIDE_BY_SIDE
        for (int32_t o = 0; o < width; o++)
            sum[o] += t * EK_AT_W(w, last + o);
    }
}

/* `width` outputs of one pixel, from output `first` on; the window starts at row `top`, column `left` of x, maybe
 * outside. */
EK_INLINE void EK_FN_block(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_IF_R(const EK_Y *r, ) EK_Y *y,
    const int32_t first, const int32_t top, const int32_t left, const int32_t width,
    const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups;
    int32_t at = first * p->k_h * p->k_w * depth;
    EK_S sum[16];
    EK_IF_R(EK_Y addend[16];)
    for (int32_t o = 0; o < width; o++) {
        sum[o] = b[first + o];
        EK_IF_R(addend[o] = r[o];)
    }
    for (int32_t i = 0; i < p->k_h; i++)
        for (int32_t j = 0; j < p->k_w; j++, at += depth * width) {
            const int32_t row = top + i * p->dilation_h, column = left + j * p->dilation_w;
            if (row >= 0 && row < p->in_h && column >= 0 && column < p->in_w)
                EK_FN_cell(x + row * p->step_h + column * p->step_w, w, sum, at, width, depth, p->step_c);
            else
                for (int32_t c = 0; c < depth; c++)
                    for (int32_t o = 0; o < width; o++)
                        sum[o] += p->in_zero * EK_AT_W(w, at + c * width + o);
        }
    const int32_t zero = p->zero, lo = p->lo, hi = p->hi; /* once: y may point anywhere */
    for (int32_t k = 0; k < width; k++) {
        const EK_S acc = sum[k];
        const int32_t o = first + k;
        y[k] = EK_STORE_Y(ek_clamp_s32(zero + EK_EXPR, lo, hi));
    }
    EK_IF_R(EK_TAIL;)
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_IF_R(const EK_Y *r, ) EK_Y *y,
    const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++) {
                const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
                for (int32_t g = 0; g < p->groups; g++)
                    for (int32_t first = 0; first < outputs; first += 16) {
                        const int32_t left_over = outputs - first, at = g * outputs + first;
                        const EK_X *from = x + g * depth * p->step_c;
                        const int32_t width = left_over < 16 ? left_over : 16;
                        if (width == 16)
                            EK_FN_block(from, w, b, m, e, EK_IF_R(r, ) y, at, top, left, 16, p);
                        else
                            EK_FN_block(from, w, b, m, e, EK_IF_R(r, ) y, at, top, left, width, p);
                        y += width;
                        EK_IF_R(r += width;)
                    }
            }
}
