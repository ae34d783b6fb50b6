/* Depthwise convolution of int8. Sixteen channels of a pixel advance together; two products of 16 bits are added
 * before they are widened, which fits, as weights are at least -127.
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule e e_wide tfl once
 * @when in_c == out_c and least_weight > -128
 * @pack w: O/16! H W I o16
 * @pack b: O/16! o16
 * @pack m: O/16! o16
 * @pack e: O/16! o16
 * @order pixels 16 */
#include "edgekit/contracts/depthwise2d_int.h"

/* Up to sixteen channels of a cell, which may be outside of the image. */
EK_INLINE int8x16_t EK_FN_load(const int8_t *EK_RESTRICT x, const int32_t row, const int32_t column,
    const int32_t first, const struct EK_STRUCT *p)
{
    if (row < 0 || row >= p->in_h || column < 0 || column >= p->in_w)
        return vdupq_n_s8((int8_t)p->in_zero);
    const int8_t *cell = x + (row * p->in_w + column) * p->in_c + first;
    if (p->in_c - first >= 16)
        return vld1q_s8(cell);
    int8_t some[16] = {0};
    ek_copy_neon(some, cell, p->in_c - first);
    return vld1q_s8(some);
}

/* Up to sixteen channels of one pixel, from channel `first` on. */
EK_INLINE void EK_FN_pixel(const int8_t *EK_RESTRICT x, const int8_t *EK_RESTRICT w,
    const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e,
    int8_t *EK_RESTRICT y, const int32_t first, const int32_t top, const int32_t left,
    const struct EK_STRUCT *p)
{
    const int32_t left_over = p->out_c - first;
    int32x4_t s = vld1q_s32(b + first), t = vld1q_s32(b + first + 4);
    int32x4_t u = vld1q_s32(b + first + 8), v = vld1q_s32(b + first + 12);
    w += first * p->k_h * p->k_w;
    for (int32_t i = 0; i < p->k_h; i++)
        for (int32_t j = 0; j < p->k_w; j += 2, w += 32) {
            const int32_t row = top + i * p->dilation_h, column = left + j * p->dilation_w;
            const int8x16_t a = EK_FN_load(x, row, column, first, p), c = vld1q_s8(w);
            int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(c)), high = vmull_high_s8(a, c);
            if (j + 1 < p->k_w) {
                const int8x16_t d = EK_FN_load(x, row, column + p->dilation_w, first, p),
                                f = vld1q_s8(w + 16);
                low = vmlal_s8(low, vget_low_s8(d), vget_low_s8(f));
                high = vmlal_high_s8(high, d, f);
            } else
                w -= 16;
            s = vaddw_s16(s, vget_low_s16(low));
            t = vaddw_high_s16(t, low);
            u = vaddw_s16(u, vget_low_s16(high));
            v = vaddw_high_s16(v, high);
        }
    s = EK_RULE(x4)(s, vld1q_s32(m + first), EK_RULE(load)(e, first));
    t = EK_RULE(x4)(t, vld1q_s32(m + first + 4), EK_RULE(load)(e, first + 4));
    u = EK_RULE(x4)(u, vld1q_s32(m + first + 8), EK_RULE(load)(e, first + 8));
    v = EK_RULE(x4)(v, vld1q_s32(m + first + 12), EK_RULE(load)(e, first + 12));
    ek_store_neon(
        y + first, ek_finish_neon(s, t, u, v, p->zero, p->lo, p->hi), left_over < 16 ? left_over : 16);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++, y += p->out_c) {
                const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
                int32_t first = 0;
                for (; first + 16 <= p->out_c; first += 16)
                    EK_FN_pixel(x, w, b, m, e, y, first, top, left, p);
                if (first < p->out_c)
                    EK_FN_pixel(x, w, b, m, e, y, first, top, left, p);
            }
}
