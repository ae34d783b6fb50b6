/* Convolution of int8 in groups: see pixel_rows_s8_x86.h. The channels of a group are copied with their borders; its
 * results are computed side by side, and then go between those of the others.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once line line_away
 * @when groups > 1 and dilation_w == 1 and acc_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * @pack w: G O/8! H WI/2! o8 wi2 @pack b: G O/8! o8 @pack m: G O/8! o8 @pack e: G O/8! o8
 * @scratch ((out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1) * ((out_w - 1) * stride_w + k_w) * (in_c // groups) * 2 + 64
 * @scratch + out_h * out_w * (out_c // groups)
 * @apart */
/* Convolution of int8 in groups, sums of sixteen outputs at a time: see pixel_rows_s8_x86.h.
 * @as avx512/conv2d_int.groups x8=x16 @pack w: G O/16! H WI/4! o16 wi4 @pack b: G O/16! o16 @pack m: G O/16! o16
 * @pack e: G O/16! o16 @fold b: -128 w
 * @scratch ((out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1) * ((out_w - 1) * stride_w + k_w) * (in_c // groups) + 64
 * @scratch + out_h * out_w * (out_c // groups) */
/* Convolution of int8 in groups, by AVX-VNNI, sums of eight outputs at a time: see pixel_rows_s8_x86.h.
 * @as avxvnni/conv2d_int.groups x8=x8v like avx512/conv2d_int.groups @pack w: G O/8! H WI/4! o8 wi4 @pack b: G O/8! o8
 * @pack m: G O/8! o8 @pack e: G O/8! o8 */
#include "edgekit/contracts/conv2d_int.h"
#include "edgekit/simd/x86/rules_x86.h"

/* One row of a group of the bordered image, of `depth` channels. */
EK_INLINE void EK_FN_row(const EK_X *x, uint8_t *y, const int32_t row, const int32_t columns,
    const int32_t depth, const struct EK_STRUCT *p)
{
    const int32_t is_inside = row >= 0 && row < p->in_h, room = columns - p->pad_left;
    const int32_t width = !is_inside || room < 0 ? 0 : room < p->in_w ? room : p->in_w;
    const int32_t left = width > 0 ? p->pad_left : columns, cell = depth * EK_X8_SIZE;
    ek_x8_fill(p->in_zero, y, left * depth);
    y += left * cell;
    for (int32_t v = 0; v < width; v++, y += cell)
        if (p->step_c == 1)
            ek_x8_copy(x + row * p->step_h + v * p->step_w, y, depth);
        else
            for (int32_t c = 0; c < depth; c++)
                ek_x8_fill(x[row * p->step_h + v * p->step_w + c * p->step_c], y + c * EK_X8_SIZE, 1);
    ek_x8_fill(p->in_zero, y, (columns - left - width) * depth);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t rows = (p->out_h - 1) * p->stride_h + (p->k_h - 1) * p->dilation_h + 1;
    const int32_t columns = (p->out_w - 1) * p->stride_w + p->k_w, pixels = p->out_h * p->out_w;
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups;
    const int32_t row_step = columns * depth * EK_X8_SIZE, step = p->stride_w * depth * EK_X8_SIZE;
    const int32_t steps = (p->k_w * depth * EK_X8_SIZE + EK_X8_STEP - 1) / EK_X8_STEP;
    const int32_t padded = (outputs + EK_X8_LANES - 1) / EK_X8_LANES * EK_X8_LANES;
    const int32_t kind = EK_RULE(kind);
    const int32_t e_step = kind <= ek_requantize_e_wide_kind ? 0
                           : kind >= ek_requantize_line_kind ? 4 * padded
                                                             : padded;
    int8_t *const results = (int8_t *)scratch + rows * row_step + 64;
    struct ek_x8_layer s = {
        p->k_h, steps, p->dilation_h * row_step, outputs, kind, p->zero, p->lo, p->hi, w, b, m, e, 0, 1};
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c, y += pixels * p->out_c)
        for (int32_t g = 0; g < p->groups; g++) {
            s.w = w + g * padded * p->k_h * steps * (EK_X8_STEP / EK_X8_SIZE);
            s.b = b + g * padded;
            s.m = m + g * padded;
            s.e = e + g * e_step;
            for (int32_t h = 0; h < rows; h++)
                EK_FN_row(
                    x + g * depth * p->step_c, scratch + h * row_step, h - p->pad_top, columns, depth, p);
            if (step * p->out_w == p->stride_h * row_step)
                ek_x8_lines(scratch, results, 1, 0, step, pixels, &s);
            else
                ek_x8_lines(scratch, results, p->out_h, p->stride_h * row_step, step, p->out_w, &s);
            for (int32_t i = 0; i < pixels; i++)
                for (int32_t o = 0; o < outputs; o++)
                    y[i * p->out_c + g * outputs + o] = results[i * outputs + o];
        }
}
