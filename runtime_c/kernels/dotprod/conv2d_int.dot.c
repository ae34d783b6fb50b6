/* Convolution of int8. Four pixels of a row and sixteen outputs advance together, by SDOT. Windows that lie inside of
 * the image are read where they are; others are gathered first.
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule e e_wide tfl once
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @pack w: G O/16!4 HWI/4! o16 hwi4
 * @pack b: O/16! o16
 * @pack m: O/16! o16
 * @pack e: O/16! o16
 * @scratch 16 if k_h * k_w == 1 and stride_h * stride_w == 1 and out_h == in_h and out_w == in_w and step_c == 1
 * @scratch else 4 * ((k_h * k_w * in_c + 15) // 16 * 16)
 * @order pixels 4 4
 * @work padded products 0.25 */
/* Convolution of int8, for rule T with negative exponents, which are almost all.
 * @as dotprod/conv2d_int.right_shift
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule tfl=tfl_down
 * @when (groups == 1 or out_c % (4 * groups) == 0) and most_exponent < 0
 * @order pixels 4 4
 * @work padded products 0.247 */
/* Convolution of int8. Four pixels of a row and sixteen outputs advance together, by SMMLA.
 * @as i8mm/conv2d_int.dot dot=mmla
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule e e_wide tfl once
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @pack w: G O/16!4 HWI/8! o16 hwi8
 * @order pixels 4 4
 * @work padded products 1 */
/* Convolution of int8, for rule T with negative exponents, which are almost all.
 * @as i8mm/conv2d_int.right_shift dot=mmla
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule tfl=tfl_down
 * @when (groups == 1 or out_c % (4 * groups) == 0) and most_exponent < 0
 * @pack w: G O/16!4 HWI/8! o16 hwi8
 * @order pixels 4 4
 * @work padded products 0.95 */
/* Convolution of int8. Four pixels of a row and four outputs advance together, by SMULL and SADALP.
 * @as neon/conv2d_int.dot dot=madd
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule e e_wide tfl once
 * @when (groups == 1 or out_c % (4 * groups) == 0) and least_weight > -128
 * @pack w: G O/8!4 HWI/16! o8 hwi16
 * @order pixels 4 4
 * @work padded products 0.95 */
/* Convolution of int8, for rule T with negative exponents, which are almost all.
 * @as neon/conv2d_int.right_shift dot=madd
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule tfl=tfl_down
 * @when (groups == 1 or out_c % (4 * groups) == 0) and least_weight > -128 and most_exponent < 0
 * @pack w: G O/8!4 HWI/16! o8 hwi16
 * @order pixels 4 4
 * @work padded products 0.902 */
/* Convolution of int8 with weights of -128, product by product.
 * @as neon/conv2d_int.one_product dot=mads
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule e e_wide tfl once
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @pack w: G O/8!4 HWI/16! o8 hwi16
 * @order pixels 4 4
 * @work padded products 1 */
#include "edgekit/contracts/conv2d_int.h"

/* One window of a group, its cells side by side. */
EK_INLINE void EK_FN_gather(const int8_t *EK_RESTRICT x, int8_t *EK_RESTRICT to, const int32_t top,
    const int32_t left, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups;
    const int whole = p->groups == 1 && left >= 0 && left + (p->k_w - 1) * p->dilation_w < p->in_w;
    x += left * p->step_w;
    for (int32_t i = 0; i < p->k_h; i++, to += p->k_w * depth) {
        const int32_t row = top + i * p->dilation_h;
        const int8_t *from = x + row * p->step_h;
        if (row < 0 || row >= p->in_h)
            ek_fill_neon(to, p->in_zero, p->k_w * depth);
        else if (p->step_c == 1 && p->dilation_w == 1 && whole)
            ek_copy_neon(to, from, p->k_w * depth);
        else
            for (int32_t j = 0; j < p->k_w; j++, from += p->dilation_w * p->step_w) {
                const int32_t column = left + j * p->dilation_w;
                if (column < 0 || column >= p->in_w)
                    ek_fill_neon(to + j * depth, p->in_zero, depth);
                else if (p->step_c == 1)
                    ek_copy_neon(to + j * depth, from, depth);
                else
                    for (int32_t c = 0; c < depth; c++)
                        to[j * depth + c] = from[c * p->step_c];
            }
    }
}

/* One to four pixels, one to four blocks of outputs from output `first` on, of those before `end`. */
EK_INLINE void EK_FN_tile(const int8_t *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, int8_t *EK_RESTRICT y, const int32_t first,
    const int32_t end, const int32_t pixels, const int32_t blocks, const struct EK_STRUCT *p)
{
    const int32_t cells = p->k_h * p->k_w * (p->in_c / p->groups),
                  padded = (cells + EK_DOT_CELLS - 1) / EK_DOT_CELLS * EK_DOT_CELLS;
    int32x4_t sum[16], factor[4], exponent[4];
    for (int32_t k = 0; k < blocks; k++)
        for (int32_t i = 0; i < pixels; i++)
            sum[4 * i + k] = vld1q_s32(b + first + 4 * k);
    ek_dot_s8_neon(x, step, row, rows, length, w + first * padded, pixels, blocks, sum);
    for (int32_t k = 0; k < blocks; k++) {
        factor[k] = vld1q_s32(m + first + 4 * k);
        exponent[k] = EK_RULE(load)(e, first + 4 * k);
    }
    for (int32_t i = 0; i < pixels; i++, y += p->out_c) {
        int32x4_t v[4];
        for (int32_t k = 0; k < 4; k++)
            v[k] = k < blocks ? EK_RULE(x4)(sum[4 * i + k], factor[k], exponent[k]) : v[0];
        const int32_t left_over = end - first;
        ek_store_neon(y + first, ek_finish_neon(v[0], v[1], v[2], v[3], p->zero, p->lo, p->hi),
            left_over < 4 * blocks ? left_over : 4 * blocks);
    }
}

/* All outputs of a group, of one to four pixels. */
EK_INLINE void EK_FN_pixels(const int8_t *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, int8_t *EK_RESTRICT y, const int32_t group,
    const int32_t pixels, const struct EK_STRUCT *p)
{
    const int32_t outputs = p->out_c / p->groups, end = (group + 1) * outputs;
    int32_t o = group * outputs;
    for (; o + 4 * EK_DOT_BLOCKS < end + 4; o += 4 * EK_DOT_BLOCKS)
        EK_FN_tile(x, step, row, rows, length, w, b, m, e, y, o, end, pixels, EK_DOT_BLOCKS, p);
    const int32_t rest = end - o;
    if (EK_DOT_BLOCKS > 2 && rest > 8)
        EK_FN_tile(x, step, row, rows, length, w, b, m, e, y, o, end, pixels, 3, p);
    else if (EK_DOT_BLOCKS > 2 && rest > 4)
        EK_FN_tile(x, step, row, rows, length, w, b, m, e, y, o, end, pixels, 2, p);
    else if (rest > 0)
        EK_FN_tile(x, step, row, rows, length, w, b, m, e, y, o, end, pixels, 1, p);
}

/* One to four pixels from pixel `start` of row `first` on, which may be behind its end, of a group. Windows are read
 * where they are, or gathered. */
EK_INLINE void EK_FN_windows(const int8_t *EK_RESTRICT x, const int8_t *EK_RESTRICT w,
    const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e,
    int8_t *EK_RESTRICT y, int8_t *EK_RESTRICT windows, const int32_t group, const int32_t first,
    const int32_t start, const int32_t pixels, const struct EK_STRUCT *p)
{
    const int32_t length = p->k_w * (p->in_c / p->groups), image = p->in_h * p->in_w * p->in_c;
    const int32_t cells = p->k_h * length, room = (cells + 15) / 16 * 16;
    const int32_t down = p->out_w % 4 == 0 ? 0 : start / p->out_w, v = start - down * p->out_w;
    const int32_t line = first + down, n = line / p->out_h;
    const int32_t top = (line - n * p->out_h) * p->stride_h - p->pad_top,
                  left = v * p->stride_w - p->pad_left;
    const int inside = top >= 0 && top + (p->k_h - 1) * p->dilation_h < p->in_h && left >= 0
                       && v + pixels <= p->out_w && left + (pixels - 1) * p->stride_w + p->k_w <= p->in_w;
    const int straight = p->step_c == 1 && (p->k_w == 1 || (p->dilation_w == 1 && p->groups == 1))
                         && (p->k_h == 1 || length % EK_DOT_CELLS == 0);
    if (straight && inside)
        EK_FN_pixels(x + n * image + top * p->step_h + left * p->step_w, p->stride_w * p->step_w,
            p->dilation_h * p->step_h, p->k_h, length, w, b, m, e, y, group, pixels, p);
    else {
        for (int32_t i = 0; i < pixels; i++) {
            const int32_t more = p->out_w % 4 == 0 ? 0 : (v + i) / p->out_w, its_n = (line + more) / p->out_h;
            EK_FN_gather(x + its_n * image, windows + i * room,
                (line + more - its_n * p->out_h) * p->stride_h - p->pad_top,
                (v + i - more * p->out_w) * p->stride_w - p->pad_left, p);
        }
        EK_FN_pixels(windows, room, 0, 1, cells, w, b, m, e, y, group, pixels, p);
    }
}

/* One to four pixels of all groups. */
EK_INLINE void EK_FN_groups(const int8_t *EK_RESTRICT x, const int8_t *EK_RESTRICT w,
    const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e,
    int8_t *EK_RESTRICT y, int8_t *EK_RESTRICT windows, const int32_t line, const int32_t v,
    const int32_t pixels, const int flat, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups;
    for (int32_t g = 0; g < p->groups; g++) {
        if (flat)
            EK_FN_pixels(x + v * p->in_c + g * depth, p->in_c, 0, 1, depth, w, b, m, e, y, g, pixels, p);
        else
            EK_FN_windows(x + g * depth * p->step_c, w, b, m, e, y, windows, g, line, v, pixels, p);
    }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    /* Windows of one cell that lie side by side in x: a row of numbers for each pixel. */
    const int flat = p->k_h == 1 && p->k_w == 1 && p->stride_h == 1 && p->stride_w == 1 && p->step_c == 1
                     && p->out_h == p->in_h && p->out_w == p->in_w;
    /* Rows that no tiles fill follow each other as one. */
    const int joined = flat || p->out_w % 4 != 0;
    const int32_t width = joined ? p->batch * p->out_h * p->out_w : p->out_w;
    const int32_t lines = joined ? 1 : p->batch * p->out_h;
    int8_t *windows = (int8_t *)scratch;
    for (int32_t line = 0; line < lines; line++, y += width * p->out_c) {
        int32_t v = 0;
        for (; v + 3 <= width && width >= 4; v += 4) {
            v = v + 4 <= width ? v : width - 4; /* a tile for the last three, the fourth computed twice */
            EK_FN_groups(x, w, b, m, e, y + v * p->out_c, windows, line, v, 4, flat, p);
        }
        for (int32_t rest = width - v; rest > 0; rest--, v++)
            EK_FN_groups(x, w, b, m, e, y + v * p->out_c, windows, line, v, 1, flat, p);
    }
}
