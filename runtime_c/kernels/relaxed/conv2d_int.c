/* Convolution of int8: see conv2d_int.h and lines_s8_wasm.h. The image is copied with its borders, so that all windows are
 * whole. Engines may sum two products in 16 bits, which fits, as weights are at least -127.
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once
 * when groups == 1 and dilation_w == 1 and least_weight > -128
 * when sum_bits + (31 - least_exponent if rule[0] == "e" else most_exponent) <= 17
 * pack w: O/4! H WI/4! o4 wi4
 * pack b: O/4! o4
 * pack m: O/4! o4
 * pack e: O/4! o4
 * fold b: -128 w
 * scratch ((out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1) * ((out_w - 1) * stride_w + k_w) * in_c + 16 */
#include "edgekit/conv2d_int.h"

/* One row of the bordered image. */
EK_INLINE void EK_FN_row(const EK_X *x, uint8_t *y, const int32_t row, const int32_t columns,
    const int32_t flip, const struct EK_STRUCT *p)
{
    const int32_t is_inside = row >= 0 && row < p->in_h, room = columns - p->pad_left;
    const int32_t width = !is_inside || room < 0 ? 0 : room < p->in_w ? room : p->in_w;
    const int32_t left = width > 0 ? p->pad_left : columns, right = columns - left - width;
    ek_fill_wasm(y, p->in_zero, left * p->in_c, 4, flip);
    y += left * p->in_c;
    if (p->step_c == 1 && p->step_w == p->in_c && width > 0)
        ek_prepare_wasm(x + row * p->step_h, y, width * p->in_c, 4, flip);
    else
        for (int32_t v = 0; v < width; v++)
            for (int32_t c = 0; c < p->in_c; c++)
                ek_prepare_wasm(
                    x + row * p->step_h + v * p->step_w + c * p->step_c, y + v * p->in_c + c, 1, 4, flip);
    ek_fill_wasm(y + width * p->in_c, p->in_zero, right * p->in_c, 4, flip);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t rows = (p->out_h - 1) * p->stride_h + (p->k_h - 1) * p->dilation_h + 1;
    const int32_t columns = (p->out_w - 1) * p->stride_w + p->k_w, row_step = columns * p->in_c;
    const int32_t is_whole = p->pad_top == 0 && p->pad_left == 0 && columns == p->in_w && rows <= p->in_h
                             && p->step_c == 1 && p->step_w == p->in_c && p->step_h == row_step;
    const int32_t is_line = p->out_w * p->stride_w * p->in_c == p->stride_h * row_step;
    const int32_t flip = ek_is_unsigned_wasm() ? 128 : 0;
    const struct ek_window_s8_wasm s = {4, p->k_h, (p->k_w * p->in_c + 3) / 4, p->dilation_h * row_step,
        p->out_c, {EK_RULE(kind)(), p->zero, p->lo, p->hi}};
    for (int32_t n = 0; n < p->batch;
        n++, x += p->in_h * p->in_w * p->in_c, y += p->out_h * p->out_w * p->out_c) {
        if (is_whole)
            ek_prepare_wasm(x, scratch, rows * row_step, 4, flip);
        else
            for (int32_t h = 0; h < rows; h++)
                EK_FN_row(x, scratch + h * row_step, h - p->pad_top, columns, flip, p);
        if (is_line)
            ek_lines_s8_wasm(
                scratch, w, b, m, e, y, 1, 0, p->stride_w * p->in_c, p->out_h * p->out_w, flip, &s);
        else
            ek_lines_s8_wasm(scratch, w, b, m, e, y, p->out_h, p->stride_h * row_step, p->stride_w * p->in_c,
                p->out_w, flip, &s);
    }
}
