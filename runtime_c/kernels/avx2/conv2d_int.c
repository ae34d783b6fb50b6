/* Convolution of int8: see pixel_rows_s8_x86.h. The image is copied with its borders, so that all windows are whole.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once line line_away
 * @when groups == 1 and dilation_w == 1 and acc_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * @pack w: O/8! H WI/2! o8 wi2 @pack b: O/8! o8 @pack m: O/8! o8 @pack e: O/8! o8
 * @scratch ((out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1) * ((out_w - 1) * stride_w + k_w) * in_c * 2 + 64
 * @order bands
 * @count rows: (out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1
 * @count columns: (out_w - 1) * stride_w + k_w
 * @count bordered cells: batch * rows * columns * in_c
 * @count bordered rows: batch * rows
 * @count flat: out_w * stride_w == stride_h * columns
 * @count lanes: 8
 * @count taps: 2
 * @count vectors: (out_c + lanes - 1) // lanes
 * @count most: 12 if vectors == 1 else 6
 * @count length: out_h * out_w if flat else out_w
 * @count quads: (length + 3) // 4 * 4
 * @count together: 1 if length < 4
 * @count together: else (most if length >= most and -(-length // most) * most <= (length + 7) // 8 * 8 else 8 if length > 7 else 4)
 * @count together: if most > 6 else 6 if length > 5 and (length + 5) // 6 * 6 <= quads
 * @count together: else 5 if length > 4 and (length + 4) // 5 * 5 <= quads else 4
 * @count tiles: batch * out_h * out_w // length * -(-length // together)
 * @count steps: vectors * k_h * ((k_w * in_c + taps - 1) // taps)
 * @count weight vectors: tiles * steps
 * @count product vectors: together * tiles * steps
 * @count result vectors: together * tiles * vectors
 * @work bordered cells 0.318, product vectors 2.7, result vectors 6.37, weight vectors 2.77 */
/* Convolution of int8, sums of sixteen outputs at a time: see pixel_rows_s8_x86.h.
 * @as avx512/conv2d_int x8=x16 @pack w: O/16! H WI/4! o16 wi4 @pack b: O/16! o16 @pack m: O/16! o16
 * @pack e: O/16! o16 @fold b: -128 w
 * @scratch ((out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1) * ((out_w - 1) * stride_w + k_w) * in_c + 64
 * @count lanes: 16
 * @count taps: 4
 * @count most: (16, 12, 8, 6)[-(-vectors // ((vectors + 3) // 4)) - 1]
 * @work bordered cells 0.0936, bordered rows 18.6, calls 32.9, product vectors 1.84, result vectors 5.83
 * @work weight vectors 1.34 */
/* Convolution of int8 with few outputs, sums of eight of two pixels at a time: see i32x8x2_avx512.h.
 * @as avx512/conv2d_int.oc8 x8=x8x2 like avx512/conv2d_int @when 8 % out_c == 0
 * @pack w: O/8! H WI/8! o8 wi8 @pack b: O/16~ o16 @pack m: O/16~ o16 @pack e: O/16~ o16
 * @count lanes: 8
 * @count taps: 8
 * @work bordered cells 0.0405, bordered rows 15.9, calls 40, product vectors 2.48, result vectors 3.57
 * @work weight vectors 1.23 */
/* Convolution of int8, by AVX-VNNI, sums of eight outputs at a time: see pixel_rows_s8_x86.h.
 * @as avxvnni/conv2d_int x8=x8v like avx512/conv2d_int @pack w: O/8! H WI/4! o8 wi4 @pack b: O/8! o8
 * @pack m: O/8! o8 @pack e: O/8! o8 @count lanes: 8
 * @count most: 12 if vectors == 1 else 6
 * @work bordered cells 0.0936, bordered rows 18.6, calls 32.9, product vectors 1.84, result vectors 5.83
 * @work weight vectors 1.34 */
#include "edgekit/contracts/conv2d_int.h"
#include "edgekit/simd/x86/rules_x86.h"

/* One row of the bordered image. */
EK_INLINE void EK_FN_row(
    const EK_X *x, uint8_t *y, const int32_t row, const int32_t columns, const struct EK_STRUCT *p)
{
    const int32_t is_inside = row >= 0 && row < p->in_h, room = columns - p->pad_left;
    const int32_t width = !is_inside || room < 0 ? 0 : room < p->in_w ? room : p->in_w;
    const int32_t left = width > 0 ? p->pad_left : columns, right = columns - left - width;
    ek_x8_fill(p->in_zero, y, left * p->in_c);
    y += left * p->in_c * EK_X8_SIZE;
    if (p->step_c == 1 && p->step_w == p->in_c && width > 0)
        ek_x8_copy(x + row * p->step_h, y, width * p->in_c);
    else
        for (int32_t v = 0; v < width; v++)
            for (int32_t c = 0; c < p->in_c; c++)
                ek_x8_fill(x[row * p->step_h + v * p->step_w + c * p->step_c],
                    y + (v * p->in_c + c) * EK_X8_SIZE, 1);
    ek_x8_fill(p->in_zero, y + width * p->in_c * EK_X8_SIZE, right * p->in_c);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t rows = (p->out_h - 1) * p->stride_h + (p->k_h - 1) * p->dilation_h + 1;
    const int32_t columns = (p->out_w - 1) * p->stride_w + p->k_w, row_step = columns * p->in_c;
    const int32_t is_whole = p->pad_top == 0 && p->pad_left == 0 && columns == p->in_w && rows <= p->in_h
                             && p->step_c == 1 && p->step_w == p->in_c; /* so rows follow each other */
    const int32_t is_line = p->out_w * p->stride_w * p->in_c == p->stride_h * row_step;
    const int32_t steps = (p->k_w * p->in_c * EK_X8_SIZE + EK_X8_STEP - 1) / EK_X8_STEP;
    const struct ek_x8_layer s = {p->k_h, steps, p->dilation_h * row_step * EK_X8_SIZE, p->out_c,
        EK_RULE(kind), p->zero, p->lo, p->hi, w, b, m, e, 0, 1};
    for (int32_t n = 0; n < p->batch;
        n++, x += p->in_h * p->in_w * p->in_c, y += p->out_h * p->out_w * p->out_c) {
        if (is_whole)
            ek_x8_copy(x, scratch, rows * row_step);
        else
            for (int32_t h = 0; h < rows; h++)
                EK_FN_row(x, scratch + h * row_step * EK_X8_SIZE, h - p->pad_top, columns, p);
        const int32_t step = p->stride_w * p->in_c * EK_X8_SIZE;
        if (is_line)
            ek_x8_lines(scratch, y, 1, 0, step, p->out_h * p->out_w, &s);
        else
            ek_x8_lines(scratch, y, p->out_h, p->stride_h * row_step * EK_X8_SIZE, step, p->out_w, &s);
    }
}
