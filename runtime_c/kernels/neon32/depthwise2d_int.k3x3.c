/* Depthwise convolution of int8 with windows of 3 x 3. Weights of eight channels stay in registers for a row of
 * pixels.
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule e e_wide tfl once
 * @when k_h == 3 and k_w == 3 and dilation_w == 1 and in_c == out_c and out_c >= 8 and least_weight > -128
 * @pack w: H W O I
 * @scratch in_w * in_c
 * @order lines 8 */
/* Depthwise convolution of int8 with windows of 3 x 3, for rule T with negative exponents, which are almost all.
 * @as neon32/depthwise2d_int.right_shift
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule tfl=tfl_down
 * @when k_h == 3 and k_w == 3 and dilation_w == 1 and in_c == out_c and out_c >= 8 and least_weight > -128
 * @when most_exponent < 0
 * @order lines 8 */
#include "edgekit/contracts/depthwise2d_int.h"

/* Adds two products in each of eight channels. */
EK_INLINE int16x8_t EK_FN_two(const int8x8_t x, const int8x8_t v, const int8x8_t y, const int8x8_t w)
{
    return vmlal_s8(vmull_s8(x, v), y, w);
}

/* Eight channels of one pixel, whose window has columns `from` to below `to` inside of the image. */
EK_INLINE void EK_FN_pixel(const int8_t *const *row, const int32_t at, const int8x8_t *w, const int32x4_t b0,
    const int32x4_t b1, const int32x4_t m0, const int32x4_t m1, const int32x4_t e0, const int32x4_t e1,
    int8_t *EK_RESTRICT y, const int32_t from, const int32_t to, const struct EK_STRUCT *p)
{
    const int8x8_t none = vdup_n_s8((int8_t)p->in_zero);
    const int8_t *r0 = row[0] + at, *r1 = row[1] + at, *r2 = row[2] + at;
    const int8x8_t x00 = from > 0 ? none : vld1_s8(r0), x10 = from > 0 ? none : vld1_s8(r1);
    const int8x8_t x20 = from > 0 ? none : vld1_s8(r2);
    const int8x8_t x01 = from > 1 || to < 2 ? none : vld1_s8(r0 + p->in_c);
    const int8x8_t x11 = from > 1 || to < 2 ? none : vld1_s8(r1 + p->in_c);
    const int8x8_t x21 = from > 1 || to < 2 ? none : vld1_s8(r2 + p->in_c);
    const int8x8_t x02 = from > 2 || to < 3 ? none : vld1_s8(r0 + 2 * p->in_c);
    const int8x8_t x12 = from > 2 || to < 3 ? none : vld1_s8(r1 + 2 * p->in_c);
    const int8x8_t x22 = from > 2 || to < 3 ? none : vld1_s8(r2 + 2 * p->in_c);
    const int16x8_t c0 = EK_FN_two(x00, w[0], x01, w[1]), c1 = EK_FN_two(x02, w[2], x10, w[3]);
    const int16x8_t c2 = EK_FN_two(x11, w[4], x12, w[5]), c3 = EK_FN_two(x20, w[6], x21, w[7]);
    const int16x8_t c4 = vmull_s8(x22, w[8]);
    int32x4_t low = vaddw_s16(b0, vget_low_s16(c0)), high = vaddw_s16(b1, vget_high_s16(c0));
    low = vaddw_s16(low, vget_low_s16(c1));
    high = vaddw_s16(high, vget_high_s16(c1));
    low = vaddw_s16(low, vget_low_s16(c2));
    high = vaddw_s16(high, vget_high_s16(c2));
    low = vaddw_s16(low, vget_low_s16(c3));
    high = vaddw_s16(high, vget_high_s16(c3));
    low = vaddw_s16(low, vget_low_s16(c4));
    high = vaddw_s16(high, vget_high_s16(c4));
    low = EK_RULE(x4)(low, m0, e0);
    high = EK_RULE(x4)(high, m1, e1);
    vst1_s8(y, ek_finish8_neon(low, high, p->zero, p->lo, p->hi));
}

/* Eight channels of a row of pixels, from channel `first` on. */
EK_INLINE void EK_FN_line(const int8_t *const *row, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, int8_t *EK_RESTRICT y, const int32_t first,
    const struct EK_STRUCT *p)
{
    const int32x4_t b0 = vld1q_s32(b + first), b1 = vld1q_s32(b + first + 4);
    const int32x4_t m0 = vld1q_s32(m + first), m1 = vld1q_s32(m + first + 4);
    const int32x4_t e0 = EK_RULE(load)(e, first), e1 = EK_RULE(load)(e, first + 4);
    const int32_t c = p->out_c;
    const int8x8_t k[9] = {vld1_s8(w + first), vld1_s8(w + c + first), vld1_s8(w + 2 * c + first),
        vld1_s8(w + 3 * c + first), vld1_s8(w + 4 * c + first), vld1_s8(w + 5 * c + first),
        vld1_s8(w + 6 * c + first), vld1_s8(w + 7 * c + first), vld1_s8(w + 8 * c + first)};
    const int32_t before = (p->pad_left + p->stride_w - 1) / p->stride_w;
    int32_t v = 0, left = -p->pad_left;
    for (; v < p->out_w && v < before; v++, left += p->stride_w)
        EK_FN_pixel(
            row, left * c + first, k, b0, b1, m0, m1, e0, e1, y + v * c + first, -left, p->in_w - left, p);
    for (; v < p->out_w && left + 3 <= p->in_w; v++, left += p->stride_w)
        EK_FN_pixel(row, left * c + first, k, b0, b1, m0, m1, e0, e1, y + v * c + first, 0, 3, p);
    for (; v < p->out_w; v++, left += p->stride_w)
        EK_FN_pixel(row, left * c + first, k, b0, b1, m0, m1, e0, e1, y + v * c + first,
            left < p->in_w ? 0 : 3, p->in_w - left, p);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    int8_t *outside = (int8_t *)scratch;
    ek_fill_neon(outside, p->in_zero, p->in_w * p->in_c);
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++, y += p->out_w * p->out_c) {
            const int8_t *row[3];
            for (int32_t i = 0; i < 3; i++) {
                const int32_t at = h * p->stride_h - p->pad_top + i * p->dilation_h;
                row[i] = at < 0 || at >= p->in_h ? outside : x + at * p->in_w * p->in_c;
            }
            int32_t o = 0;
            for (; o + 8 <= p->out_c; o += 8)
                EK_FN_line(row, w, b, m, e, y, o, p);
            if (o < p->out_c)
                EK_FN_line(row, w, b, m, e, y, p->out_c - 8, p);
        }
}
