/* Convolution of int8 on RISC-V without vectors. Four outputs of up to four pixels of a row advance together: each
 * weight that is loaded has four products, and so has each cell. Windows that lie inside of the image are read where
 * they are; others are gathered first, those of pixels side by side as one.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e tfl tfl_up
 * @when acc_bits <= 30 and (most_exponent < 0 or least_exponent > 32) @pack w: G O/4! HWI o4
 * @pack b: G O/4! o4 @pack e: O : s8 x-1 +-1
 * @scratch k_h * (3 * stride_w + (k_w - 1) * dilation_w + 1) * (in_c // groups) @order pixels 4 4 */
#include "edgekit/contracts/conv2d_int.h"

/* The rows and columns that windows of some pixels see, `columns` of them, from row `top` and column `left` on. */
EK_COMPACT void EK_FN_gather(const int8_t *x, int8_t *to, const int32_t top, const int32_t left,
    const int32_t columns, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups;
    for (int32_t i = 0; i < p->k_h; i++)
        for (int32_t j = 0; j < columns; j++, to += depth) {
            const int32_t row = top + i * p->dilation_h, column = left + j;
            const int8_t *const cell = x + row * p->step_h + column * p->step_w;
            const int is_inside = row >= 0 && row < p->in_h && column >= 0 && column < p->in_w;
            if (is_inside && p->step_c == 1)
                for (int32_t c = 0; c < depth; c++)
                    to[c] = cell[c];
            else
                for (int32_t c = 0; c < depth; c++)
                    to[c] = (int8_t)(is_inside ? cell[c * p->step_c] : p->in_zero);
        }
}

/* Four outputs from number `o` on, `count` of which there are, of one pixel or of four. Their windows are k_h rows, `row` apart,
 * whose columns are `column` apart; pixels are `step` apart. */
EK_INLINE void EK_FN_tile(const int8_t *x, const int32_t step, const int32_t row, const int32_t column,
    const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m,
    const int8_t *EK_RESTRICT e, int8_t *y, const int32_t o, const int32_t count, const int32_t pixels,
    const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, zero = p->zero, lo = p->lo, hi = p->hi;
    const int is_line = column == depth; /* rows of windows have no gaps */
    const int32_t parts = is_line ? 1 : p->k_w, length = is_line ? p->k_w * depth : depth;
    int32_t sums[4][4];
    EK_UNROLLED_FOR(4, int32_t k = 0; k < pixels; k++)
        EK_UNROLLED_FOR(4, int32_t n = 0; n < 4; n++)
            sums[k][n] = b[n];
    for (int32_t i = 0; i < p->k_h; i++, x += row)
        for (int32_t j = 0; j < parts; j++) {
            const int8_t *cell = x + j * column;
            EK_ROLLED_FOR(int32_t c = 0; c < length; c++, cell++, w += 4) {
                int32_t t[4];
                EK_UNROLLED_FOR(4, int32_t k = 0; k < pixels; k++)
                    t[k] = cell[k * step];
                EK_UNROLLED_FOR(4, int32_t n = 0; n < 4; n++) {
                    const int32_t v = w[n];
                    EK_UNROLLED_FOR(4, int32_t k = 0; k < pixels; k++)
                        sums[k][n] = ek_add_in_turn(sums[k][n], t[k] * v);
                }
            }
        }
    EK_UNROLLED_FOR(4, int32_t k = 0; k < pixels; k++)
        EK_UNROLLED_FOR(4, int32_t n = 0; n < 4; n++)
            if (n < count) {
                const int32_t result = EK_RULE(one)(sums[k][n], m[o + n], e, o + n);
                y[k * p->out_c + n] = ek_between_s8(zero + result, lo, hi);
            }
}

/* All outputs of one pixel or of four, the first of which is in column `v` and sees row `top` first. */
EK_COMPACT void EK_FN_pixels(const int8_t *x, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, int8_t *y, int8_t *EK_RESTRICT scratch,
    const int32_t top, const int32_t v, const int32_t pixels, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups, taps = p->k_h * p->k_w * depth;
    const int32_t left = v * p->stride_w - p->pad_left, padded = (outputs + 3) / 4 * 4;
    const int32_t columns = (pixels - 1) * p->stride_w + (p->k_w - 1) * p->dilation_w + 1;
    const int is_whole = p->step_c == 1 && left >= 0 && left + columns <= p->in_w && top >= 0
                         && top + (p->k_h - 1) * p->dilation_h < p->in_h;
    const int32_t pixel = is_whole ? p->step_w : depth;
    const int32_t row = is_whole ? p->dilation_h * p->step_h : columns * depth;
    const int8_t *from = x + top * p->step_h + left * p->step_w;
    for (int32_t g = 0; g < p->groups; g++, from += depth) {
        if (!is_whole) {
            EK_FN_gather(x + g * depth * p->step_c, scratch, top, left, columns, p);
            from = scratch;
        }
        for (int32_t o = 0; o < outputs; o += 4) {
            const int32_t count = outputs - o < 4 ? outputs - o : 4, at = g * padded + o;
            int8_t *const to = y + g * outputs + o;
            if (pixels == 4)
                EK_FN_tile(from, p->stride_w * pixel, row, p->dilation_w * pixel, w + at * taps, b + at, m, e,
                    to, g * outputs + o, count, 4, p);
            else
                EK_FN_tile(from, p->stride_w * pixel, row, p->dilation_w * pixel, w + at * taps, b + at, m, e,
                    to, g * outputs + o, count, 1, p);
        }
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
            for (; v + 4 <= p->out_w; v += 4)
                EK_FN_pixels(x, w, b, m, e, y + v * p->out_c, (int8_t *)scratch, top, v, 4, p);
            for (; v < p->out_w; v++)
                EK_FN_pixels(x, w, b, m, e, y + v * p->out_c, (int8_t *)scratch, top, v, 1, p);
        }
}
