/* Depthwise convolution of int8 on RISC-V without vectors. A channel of a row of pixels at a time, so that its
 * weights stay in registers.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e tfl tfl_up
 * @when in_c == out_c and acc_bits <= 30 and (most_exponent < 0 or least_exponent > 32) @pack w: O H W I
 * @pack e: O : s8 x-1 +-1 @order lines 1 */
#include "edgekit/contracts/depthwise2d_int.h"

/* A channel of one pixel: `x` is its first cell, `w` its weights. Cells outside of the image hold in_zero. */
EK_INLINE int32_t EK_FN_window(const int8_t *x, const int8_t *EK_RESTRICT w, const int32_t bias,
    const int32_t top, const int32_t left, const int is_inside, const struct EK_STRUCT *p)
{
    int32_t sum = bias;
    EK_UNROLLED_FOR(4, int32_t i = 0; i < p->k_h; i++) {
        const int32_t row = top + i * p->dilation_h;
        const int is_row = is_inside || (row >= 0 && row < p->in_h);
        EK_UNROLLED_FOR(4, int32_t j = 0; j < p->k_w; j++) {
            const int32_t column = left + j * p->dilation_w;
            const int is_cell = is_inside || (is_row && column >= 0 && column < p->in_w);
            const int32_t at = (i * p->dilation_h * p->in_w + j * p->dilation_w) * p->in_c;
            sum += (is_cell ? x[at] : p->in_zero) * w[i * p->k_w + j];
        }
    }
    return sum;
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const int32_t zero = p->zero, lo = p->lo, hi = p->hi; /* once: y may point anywhere */
    const int32_t depth = p->in_c, span = (p->k_w - 1) * p->dilation_w;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * depth)
        for (int32_t h = 0; h < p->out_h; h++, y += p->out_w * depth) {
            const int32_t top = h * p->stride_h - p->pad_top;
            const int is_row = top >= 0 && top + (p->k_h - 1) * p->dilation_h < p->in_h;
            for (int32_t o = 0; o < depth; o++) {
                const int8_t *const from = x + top * p->in_w * depth + o, *const own =
                                                                              w + o * p->k_h * p->k_w;
                const int32_t bias = b[o];
                for (int32_t v = 0, left = -p->pad_left; v < p->out_w; v++, left += p->stride_w) {
                    int32_t sum;
                    if (is_row && left >= 0 && left + span < p->in_w)
                        sum = EK_FN_window(from + left * depth, own, bias, top, left, 1, p);
                    else
                        sum = EK_FN_window(from + left * depth, own, bias, top, left, 0, p);
                    y[v * depth + o] = ek_between_s8(zero + EK_RULE(one)(sum, m[o], e, o), lo, hi);
                }
            }
        }
}
