/* Convolution of int8. Two pixels of a row and four outputs advance together, sixteen cells at once. Windows that lie
 * inside of the image are read where they are; others are gathered first.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once @when groups == 1 and least_weight > -128
 * @pack w: O/4! HWI/16! o4 hwi16 @pack b: O/4! o4 @pack m: O/4! o4 @pack e: O/4! o4
 * @scratch 2 * ((k_h * k_w * in_c + 15) // 16 * 16) @order pixels 4 2 @work padded products 0.502 */
/* Convolution of int8, for rule T with negative exponents, which are almost all.
 * @as neon32/conv2d_int.right_shift @rule tfl=tfl_down @when most_exponent < 0 @work padded products 0.497 */
#include "edgekit/contracts/conv2d_int.h"

/* One window, its cells side by side, zeros behind them. */
EK_INLINE void EK_FN_gather(const int8_t *EK_RESTRICT x, int8_t *EK_RESTRICT to, const int32_t top,
    const int32_t left, const struct EK_STRUCT *p)
{
    const int32_t length = p->k_w * p->in_c, cells = p->k_h * length;
    if (cells % 16 != 0)
        vst1q_s8(to + cells / 16 * 16, vdupq_n_s8(0));
    for (int32_t i = 0; i < p->k_h; i++, to += length) {
        const int32_t row = top + i * p->dilation_h;
        const int8_t *from = x + row * p->step_h + left * p->step_w;
        if (row < 0 || row >= p->in_h)
            ek_fill_neon(to, p->in_zero, length);
        else if (p->step_c == 1 && p->dilation_w == 1 && left >= 0 && left + p->k_w <= p->in_w)
            ek_copy_neon(to, from, length);
        else
            for (int32_t j = 0; j < p->k_w; j++) {
                const int32_t column = left + j * p->dilation_w;
                const int8_t *cell = from + j * p->dilation_w * p->step_w;
                if (column < 0 || column >= p->in_w)
                    ek_fill_neon(to + j * p->in_c, p->in_zero, p->in_c);
                else if (p->step_c == 1)
                    ek_copy_neon(to + j * p->in_c, cell, p->in_c);
                else
                    for (int32_t c = 0; c < p->in_c; c++)
                        to[j * p->in_c + c] = cell[c * p->step_c];
            }
    }
}

/* Four outputs of one or two pixels. Their windows are `rows` pieces of `length`, `row` apart; pixels are `step`
 * apart. Only a single piece may be no multiple of sixteen, but of eight. */
EK_INLINE void EK_FN_tile(const int8_t *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, int8_t *EK_RESTRICT y, const int32_t o,
    const int32_t pixels, const struct EK_STRUCT *p)
{
    int32x4_t s0 = vdupq_n_s32(0), s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;
    for (int32_t i = 0; i < rows; i++, x += row) {
        const int8_t *from = x;
        for (int32_t c = 0; c + 16 <= length; c += 16, from += 16) {
            const int8x16_t u = vld1q_s8(from), v = pixels > 1 ? vld1q_s8(from + step) : u;
            EK_PAIRS16(s0, t0)
            EK_PAIRS16(s1, t1)
            EK_PAIRS16(s2, t2)
            EK_PAIRS16(s3, t3)
        }
        if (length & 8) {
            const int8x8_t u = vld1_s8(from), v = pixels > 1 ? vld1_s8(from + step) : u;
            EK_PAIRS8(s0, t0)
            EK_PAIRS8(s1, t1)
            EK_PAIRS8(s2, t2)
            EK_PAIRS8(s3, t3)
        }
    }
    const int32x4_t bias = vld1q_s32(b + o), factor = vld1q_s32(m + o), exponent = EK_RULE(load)(e, o);
    const int32x4_t one = EK_RULE(x4)(vaddq_s32(ek_across_neon(s0, s1, s2, s3), bias), factor, exponent);
    const int32x4_t two =
        pixels > 1 ? EK_RULE(x4)(vaddq_s32(ek_across_neon(t0, t1, t2, t3), bias), factor, exponent) : one;
    const int8x8_t result = ek_finish8_neon(one, two, p->zero, p->lo, p->hi);
    const int32_t left_over = p->out_c - o < 4 ? p->out_c - o : 4;
    ek_store8_neon(y + o, result, left_over);
    if (pixels > 1)
        ek_store8_neon(y + p->out_c + o, vext_s8(result, result, 4), left_over);
}

/* All outputs of one or two pixels. */
EK_INLINE void EK_FN_pixels(const int8_t *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, int8_t *EK_RESTRICT y, const int32_t pixels,
    const struct EK_STRUCT *p)
{
    const int32_t block = (p->k_h * p->k_w * p->in_c + 15) / 16 * 64;
    int32_t o = 0;
    for (; o + 4 <= p->out_c; o += 4, w += block)
        EK_FN_tile(x, step, row, rows, length, w, b, m, e, y, o, pixels, p);
    if (o < p->out_c)
        EK_FN_tile(x, step, row, rows, length, w, b, m, e, y, o, pixels, p);
}

/* One or two pixels of an output row, from column `v` on; their windows start at row `top`. */
EK_INLINE void EK_FN_columns(const int8_t *EK_RESTRICT x, const int8_t *EK_RESTRICT w,
    const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e,
    int8_t *EK_RESTRICT y, int8_t *EK_RESTRICT windows, const int32_t top, const int32_t v,
    const int32_t pixels, const struct EK_STRUCT *p)
{
    const int32_t left = v * p->stride_w - p->pad_left, length = p->k_w * p->in_c;
    const int32_t room = (p->k_h * length + 15) / 16 * 16;
    const int inside = top >= 0 && top + (p->k_h - 1) * p->dilation_h < p->in_h && left >= 0
                       && left + (pixels - 1) * p->stride_w + (p->k_w - 1) * p->dilation_w < p->in_w;
    const int straight =
        p->step_c == 1 && (p->k_w == 1 || p->dilation_w == 1) && length % (p->k_h == 1 ? 8 : 16) == 0;
    if (straight && inside)
        EK_FN_pixels(x + top * p->step_h + left * p->step_w, p->stride_w * p->step_w,
            p->dilation_h * p->step_h, p->k_h, length, w, b, m, e, y, pixels, p);
    else {
        for (int32_t i = 0; i < pixels; i++)
            EK_FN_gather(x, windows + i * room, top, left + i * p->stride_w, p);
        EK_FN_pixels(windows, room, 0, 1, room, w, b, m, e, y, pixels, p);
    }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++, y += p->out_w * p->out_c) {
            const int32_t top = h * p->stride_h - p->pad_top;
            int32_t v = 0;
            for (; v + 2 <= p->out_w; v += 2)
                EK_FN_columns(x, w, b, m, e, y + v * p->out_c, (int8_t *)scratch, top, v, 2, p);
            if (v < p->out_w)
                EK_FN_columns(x, w, b, m, e, y + v * p->out_c, (int8_t *)scratch, top, v, 1, p);
        }
}
