/* Depthwise convolution of int8 with windows of 3 x 3. A column of a window, its channels interleaved, is four cells
 * for SDOT, the last of them nothing; columns serve the pixels beside them, too.
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule e e_wide tfl once
 * @when k_h == 3 and k_w == 3 and dilation_w == 1 and in_c == out_c
 * @pack w: O/16! W I o16 H/4! h4
 * @pack b: O/16! o16
 * @pack m: O/16! o16
 * @pack e: O/16! o16
 * @scratch in_w * in_c
 * @order lines 16 */
/* Depthwise convolution of int8 with windows of 3 x 3, for rule T with negative exponents, which are almost all.
 * @as dotprod/depthwise2d_int.right_shift
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule tfl=tfl_down
 * @when k_h == 3 and k_w == 3 and dilation_w == 1 and in_c == out_c and most_exponent < 0
 * @order lines 16 */
#include "edgekit/contracts/depthwise2d_int.h"

/* `width` bytes of a row, 8 or 16; what is behind the row is not read. */
EK_INLINE int8x16_t EK_FN_load(
    const int8_t *EK_RESTRICT row, const int32_t at, const int32_t width, const struct EK_STRUCT *p)
{
    const int32_t rest = p->in_w * p->in_c - at;
    if (p->in_c % width != 0 && rest < width) {
        int8_t some[16] = {0};
        ek_copy_neon(some, row + at, rest);
        return vld1q_s8(some);
    }
    return width == 16 ? vld1q_s8(row + at) : vcombine_s8(vld1_s8(row + at), vdup_n_s8(0));
}

/* A column of the window: for each channel its three cells and a fourth that does not count. */
EK_INLINE int8x16x4_t EK_FN_column(const int8_t *const *row, const int32_t column, const int32_t first,
    const int32_t width, const struct EK_STRUCT *p)
{
    int8x16x4_t y;
    if (column < 0 || column >= p->in_w) {
        y.val[0] = y.val[1] = y.val[2] = y.val[3] = vdupq_n_s8((int8_t)p->in_zero);
        return y;
    }
    const int32_t at = column * p->in_c + first;
    const int8x16_t a = EK_FN_load(row[0], at, width, p), b = EK_FN_load(row[1], at, width, p);
    const int8x16_t c = EK_FN_load(row[2], at, width, p);
    const int16x8_t ab = vreinterpretq_s16_s8(vzip1q_s8(a, b)), cc = vreinterpretq_s16_s8(vzip1q_s8(c, c));
    y.val[0] = vreinterpretq_s8_s16(vzip1q_s16(ab, cc));
    y.val[1] = vreinterpretq_s8_s16(vzip2q_s16(ab, cc));
    const int16x8_t high = vreinterpretq_s16_s8(vzip2q_s8(a, b)),
                    last = vreinterpretq_s16_s8(vzip2q_s8(c, c));
    y.val[2] = vreinterpretq_s8_s16(vzip1q_s16(high, last));
    y.val[3] = vreinterpretq_s8_s16(vzip2q_s16(high, last));
    return y;
}

/* Up to `width` channels of one pixel, from its three columns. */
EK_INLINE void EK_FN_pixel(const int8x16x4_t u, const int8x16x4_t v, const int8x16x4_t t,
    const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m,
    const int8_t *EK_RESTRICT e, int8_t *EK_RESTRICT y, const int32_t first, const int32_t width,
    const struct EK_STRUCT *p)
{
    int32x4_t sum[4];
    for (int32_t k = 0; k < width / 4; k++) {
        const int8_t *of = w + 12 * first + 16 * k;
        sum[k] = vdotq_s32(vld1q_s32(b + first + 4 * k), u.val[k], vld1q_s8(of));
        sum[k] = vdotq_s32(sum[k], v.val[k], vld1q_s8(of + 64));
        sum[k] = vdotq_s32(sum[k], t.val[k], vld1q_s8(of + 128));
        sum[k] = EK_RULE(x4)(sum[k], vld1q_s32(m + first + 4 * k), EK_RULE(load)(e, first + 4 * k));
    }
    if (width == 8)
        sum[2] = sum[3] = sum[1];
    const int32_t left_over = p->out_c - first;
    ek_store_neon(y + first, ek_finish_neon(sum[0], sum[1], sum[2], sum[3], p->zero, p->lo, p->hi),
        left_over < width ? left_over : width);
}

/* Up to `width` channels of a row of pixels. */
EK_INLINE void EK_FN_line(const int8_t *const *row, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, int8_t *EK_RESTRICT y, const int32_t first,
    const int32_t width, const struct EK_STRUCT *p)
{
    int32_t left = -p->pad_left, n = p->out_w;
    if (p->stride_w == 1) {
        int8x16x4_t s = EK_FN_column(row, left, first, width, p),
                    t = EK_FN_column(row, left + 1, first, width, p);
        for (; n >= 3; n -= 3, left += 3, y += 3 * p->out_c) {
            const int8x16x4_t u = EK_FN_column(row, left + 2, first, width, p);
            EK_FN_pixel(s, t, u, w, b, m, e, y, first, width, p);
            s = EK_FN_column(row, left + 3, first, width, p);
            EK_FN_pixel(t, u, s, w, b, m, e, y + p->out_c, first, width, p);
            t = EK_FN_column(row, left + 4, first, width, p);
            EK_FN_pixel(u, s, t, w, b, m, e, y + 2 * p->out_c, first, width, p);
        }
    }
    for (; n > 0; n--, left += p->stride_w, y += p->out_c)
        EK_FN_pixel(EK_FN_column(row, left, first, width, p), EK_FN_column(row, left + 1, first, width, p),
            EK_FN_column(row, left + 2, first, width, p), w, b, m, e, y, first, width, p);
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
            int32_t first = 0;
            for (; first + 16 <= p->out_c; first += 16)
                EK_FN_line(row, w, b, m, e, y, first, 16, p);
            if (p->out_c - first > 8)
                EK_FN_line(row, w, b, m, e, y, first, 16, p);
            else if (p->out_c > first)
                EK_FN_line(row, w, b, m, e, y, first, 8, p);
        }
}
