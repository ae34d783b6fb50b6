/* Depthwise convolution of int8. Eight channels of a pixel advance together; the last eight may be computed twice in
 * part. Two products are added in 16 bits, which suffice unless both factors are -128.
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule e e_wide tfl once
 * @when in_c == out_c and out_c >= 8 and least_weight > -128
 * @pack w: H W O I
 * @scratch in_w * in_c
 * @order lines 8 */
#include "edgekit/contracts/depthwise2d_int.h"

/* Eight channels of one pixel. `columns` are those that windows have inside of the image; the others, and rows
 * outside, are read from `outside`. */
EK_INLINE void EK_FN_pixel(const int8_t *EK_RESTRICT image, const int8_t *EK_RESTRICT outside,
    const int8_t *EK_RESTRICT w, const int32x4_t b0, const int32x4_t b1, const int32x4_t m0,
    const int32x4_t m1, const int32x4_t e0, const int32x4_t e1, int8_t *EK_RESTRICT y, const int32_t top,
    const int32_t left, const int inside, const struct EK_STRUCT *p)
{
    int32x4_t low = b0, high = b1;
    int16x8_t pair = vdupq_n_s16(0);
    int odd = 0;
    for (int32_t i = 0; i < p->k_h; i++) {
        const int32_t row = top + i * p->dilation_h;
        const int8_t *line = row < 0 || row >= p->in_h ? outside : image + row * p->in_w * p->in_c;
        for (int32_t j = 0; j < p->k_w; j++, w += p->out_c, odd = !odd) {
            const int32_t column = left + j * p->dilation_w;
            const int beside = !inside && (column < 0 || column >= p->in_w);
            const int8x8_t x = vld1_s8(beside ? outside : line + column * p->in_c);
            if (odd) {
                pair = vmlal_s8(pair, x, vld1_s8(w));
                low = vaddw_s16(low, vget_low_s16(pair));
                high = vaddw_s16(high, vget_high_s16(pair));
            } else
                pair = vmull_s8(x, vld1_s8(w));
        }
    }
    if (odd) {
        low = vaddw_s16(low, vget_low_s16(pair));
        high = vaddw_s16(high, vget_high_s16(pair));
    }
    low = EK_RULE(x4)(low, m0, e0);
    high = EK_RULE(x4)(high, m1, e1);
    vst1_s8(y, ek_finish8_neon(low, high, p->zero, p->lo, p->hi));
}

/* Eight channels of a row of pixels. */
EK_INLINE void EK_FN_line(const int8_t *EK_RESTRICT image, const int8_t *EK_RESTRICT outside,
    const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m,
    const int8_t *EK_RESTRICT e, int8_t *EK_RESTRICT y, const int32_t top, const int32_t first,
    const struct EK_STRUCT *p)
{
    const int32x4_t b0 = vld1q_s32(b + first), b1 = vld1q_s32(b + first + 4);
    const int32x4_t m0 = vld1q_s32(m + first), m1 = vld1q_s32(m + first + 4);
    const int32x4_t e0 = EK_RULE(load)(e, first), e1 = EK_RULE(load)(e, first + 4);
    const int32_t span = (p->k_w - 1) * p->dilation_w;
    int32_t left = -p->pad_left;
    image += first;
    w += first;
    y += first;
    for (int32_t v = 0; v < p->out_w; v++, y += p->out_c, left += p->stride_w)
        if (left >= 0 && left + span < p->in_w)
            EK_FN_pixel(image, outside, w, b0, b1, m0, m1, e0, e1, y, top, left, 1, p);
        else
            EK_FN_pixel(image, outside, w, b0, b1, m0, m1, e0, e1, y, top, left, 0, p);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    int8_t *outside = (int8_t *)scratch;
    ek_fill_neon(outside, p->in_zero, p->in_w * p->in_c);
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++, y += p->out_w * p->out_c) {
            const int32_t top = h * p->stride_h - p->pad_top;
            int32_t o = 0;
            for (; o + 8 <= p->out_c; o += 8)
                EK_FN_line(x, outside, w, b, m, e, y, top, o, p);
            if (o < p->out_c)
                EK_FN_line(x, outside, w, b, m, e, y, top, p->out_c - 8, p);
        }
}
