/* Convolution of int8. Outputs of up to six pixels of a row advance together, as many as four vector registers hold:
 * see gemm_rvv.h. Windows that lie inside of the image are read where they are; others are gathered first, those of
 * pixels side by side as one.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl tfl_up once @pack w: G O/64 H I W o64
 * @scratch k_h * (5 * stride_w + (k_w - 1) * dilation_w + 1) * (in_c // groups) @order pixels 16 6
 * @count blocks: groups * ((out_c // groups + 31) // 32)
 * @count wide: (out_w + 5) // 6
 * @count tiles: batch * out_h * wide
 * @count edges: (pad_left > 0) + ((out_w - 1) * stride_w + (k_w - 1) * dilation_w + 1 > in_w + pad_left)
 * @count parted: batch * groups * ((out_h - whole_h) * wide + whole_h * min(wide, edges))
 * @count parted rows: parted * k_h
 * @count weight vectors: tiles * blocks * k_h * k_w * (in_c // groups)
 * @count results: batch * out_h * out_w * blocks
 * @count results by tfl: results * (rule == "tfl")
 * @work calls 118, parted 8.84, parted rows 32.2, products by 32 outputs 0.197, results 37.4
 * @work results by tfl 26, tiles 32.1, weight vectors 7.78 */
/* Convolution of int8, for rule T with negative exponents, which are almost all.
 * @as rvv/conv2d_int.right_shift @rule tfl=tfl_down tfl_up=tfl_down_up @when most_exponent < 0
 * @work calls 24.2, parted rows 37.7, products by 32 outputs 0.195, results 29.6, results by tfl 18
 * @work tiles 47.8, weight vectors 8 */
/* Convolution of int8, for few outputs: two vector registers, of up to twelve pixels.
 * @as rvv/conv2d_int.oc16 m4=m2
 * @scratch k_h * (11 * stride_w + (k_w - 1) * dilation_w + 1) * (in_c // groups) @order pixels 8 12
 * @count blocks: groups * ((out_c // groups + 15) // 16)
 * @count wide: (out_w + 11) // 12
 * @work parted rows 61, products by 16 outputs 0.254, results 27.3, results by tfl 7.82, tiles 23.2
 * @work weight vectors 6.39 */
/* Convolution of int8, for few outputs and rule T with negative exponents.
 * @as rvv/conv2d_int.oc16_right_shift like rvv/conv2d_int.oc16 @rule tfl=tfl_down tfl_up=tfl_down_up
 * @when most_exponent < 0
 * @work parted rows 60.4, products by 16 outputs 0.252, results 24.4, results by tfl 4.31, tiles 19.6
 * @work weight vectors 6.47 */
/* Convolution of int8, for many outputs: eight vector registers, of up to three pixels.
 * @as rvv/conv2d_int.oc64 m4=m8
 * @scratch k_h * (2 * stride_w + (k_w - 1) * dilation_w + 1) * (in_c // groups) @order pixels 32 3
 * @count blocks: groups * ((out_c // groups + 63) // 64)
 * @count wide: (out_w + 2) // 3
 * @work calls 225, parted 80.7, parted rows 34.6, products by 64 outputs 0.176, results 82.1
 * @work results by tfl 98.8, tiles 32.9, weight vectors 9.69 */
/* Convolution of int8, for many outputs and rule T with negative exponents.
 * @as rvv/conv2d_int.oc64_right_shift like rvv/conv2d_int.oc64 @rule tfl=tfl_down tfl_up=tfl_down_up
 * @when most_exponent < 0
 * @work calls 392, parted 20.9, parted rows 40, products by 64 outputs 0.166, results 49.1
 * @work results by tfl 42.5, tiles 111, weight vectors 10.6 */
#include "edgekit/contracts/conv2d_int.h"

/* The rows and columns that windows of a tile see, `columns` of them, from row `top` and column `left` on. */
EK_INLINE void EK_FN_gather(const int8_t *x, int8_t *EK_RESTRICT to, const int32_t top, const int32_t left,
    const int32_t columns, const int32_t depth, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->k_h; i++) {
        const int32_t row = top + i * p->dilation_h;
        const int8_t *const from = x + row * p->step_h;
        if (row < 0 || row >= p->in_h) {
            ek_fill_rvv(to, p->in_zero, columns * depth);
            to += columns * depth;
            continue;
        }
        int32_t column = left;
        const int32_t end = left + columns, last = end < p->in_w ? end : p->in_w;
        if (p->step_c == 1 && p->groups == 1) {
            for (; column < end && column < 0; column++, to += depth)
                ek_fill_rvv(to, p->in_zero, depth);
            if (column < last) {
                ek_copy_rvv(to, from + column * p->step_w, (last - column) * depth);
                to += (last - column) * depth;
                column = last;
            }
        }
        for (; column < end; column++, to += depth)
            if (column < 0 || column >= p->in_w)
                ek_fill_rvv(to, p->in_zero, depth);
            else
                for (int32_t c = 0; c < depth; c++)
                    to[c] = from[column * p->step_w + c * p->step_c];
    }
}

/* The results of `vl` outputs of a pixel from number `o` on. */
EK_INLINE void EK_FN_finish(const ek_m4_sums sums, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e,
    int8_t *y, const int32_t o, const size_t vl, const struct EK_STRUCT *p)
{
    const int32_t zero = p->zero, lo = p->lo, hi = p->hi; /* once: y may point anywhere */
    ek_m4_finish(y + o, EK_RULE(m4)(sums, m, e, o, vl), zero, lo, hi, vl);
}

#define EK_FN_add(k, s)                                                                                      \
    if (pixels > (k))                                                                                        \
        s = ek_m4_add(s, cell[(k) * step], v, vl);
#define EK_FN_store(k, s)                                                                                    \
    if (pixels > (k))                                                                                        \
        EK_FN_finish(s, m, e, y + (k) * p->out_c, o, vl, p);

/* `vl` outputs from number `o` on of some pixels. Their windows are k_h rows, `row` apart, whose columns are `column` apart;
 * pixels are `step` apart. Weights are those of a block of `width` outputs. */
EK_INLINE void EK_FN_tile(const int8_t *x, const int32_t step, const int32_t row, const int32_t column,
    const int8_t *EK_RESTRICT w, const int32_t width, const int32_t *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, int8_t *y, const int32_t o,
    const int32_t pixels, const size_t vl, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups;
    ek_m4_sums s0 = ek_m4_load(b + o, vl), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0,
               s8 = s0, s9 = s0, s10 = s0, s11 = s0;
    for (int32_t i = 0; i < p->k_h; i++, x += row)
        EK_UNROLLED_FOR(2, int32_t c = 0; c < depth; c++)
            EK_UNROLLED_FOR(4, int32_t j = 0; j < p->k_w; j++, w += width) {
                const int8_t *const cell = x + c + j * column;
                const ek_m4_weights v = ek_m4_widen(w, vl);
                EK_EACH_PIXEL(EK_FN_add)
            }
    EK_EACH_PIXEL(EK_FN_store)
}

/* All outputs of some pixels of a row, the first of which is in column `v` and sees row `top` first. */
EK_INLINE void EK_FN_pixels(const int8_t *x, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, int8_t *y, int8_t *EK_RESTRICT scratch,
    const int32_t top, const int32_t v, const int32_t pixels, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups;
    const int32_t left = v * p->stride_w - p->pad_left, taps = p->k_h * p->k_w * depth;
    const int32_t columns = (pixels - 1) * p->stride_w + (p->k_w - 1) * p->dilation_w + 1;
    const int is_whole = p->step_c == 1 && left >= 0 && left + columns <= p->in_w && top >= 0
                         && top + (p->k_h - 1) * p->dilation_h < p->in_h;
    const int32_t pixel = is_whole ? p->step_w : depth;
    const int32_t row = is_whole ? p->dilation_h * p->step_h : columns * depth;
    const int8_t *from = x + top * p->step_h + left * p->step_w;
    for (int32_t g = 0; g < p->groups; g++, from += depth) {
        if (!is_whole) {
            EK_FN_gather(x + g * depth * p->step_c, scratch, top, left, columns, depth, p);
            from = scratch;
        }
        for (int32_t block = g * outputs; block < (g + 1) * outputs; block += 64) {
            const int32_t left_over = (g + 1) * outputs - block, width = left_over < 64 ? left_over : 64;
            for (int32_t o = 0, vl = 0; o < width; o += vl) {
                vl = (int32_t)ek_m4_count(width - o);
                EK_FN_tile(from, p->stride_w * pixel, row, p->dilation_w * pixel, w + block * taps + o, width,
                    b, m, e, y, block + o, pixels, (size_t)vl, p);
            }
        }
    }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    int8_t *const band = (int8_t *)scratch;
    const int32_t pixels = ek_tile_pixels(p->out_w, EK_M4_PIXELS), whole = p->out_w / pixels * pixels;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++, y += p->out_w * p->out_c) {
            const int32_t top = h * p->stride_h - p->pad_top;
            int32_t v = 0;
            for (; v < whole; v += pixels)
                EK_FN_pixels(x, w, b, m, e, y + v * p->out_c, band, top, v, pixels, p);
            if (EK_IS_COMPACT)
                for (; v < p->out_w; v++)
                    EK_FN_pixels(x, w, b, m, e, y + v * p->out_c, band, top, v, 1, p);
            else if (whole < p->out_w)
                EK_FN_pixels(x, w, b, m, e, y + whole * p->out_c, band, top, whole, p->out_w - whole, p);
        }
}
