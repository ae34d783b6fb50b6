/* Convolution of int8 in groups, or dilated: see pixel_rows_s8_x86.h. The channels of a group are copied with their borders,
 * and of columns those that are `dilation_w` apart (a phase), so that windows are whole; their results are computed side
 * by side, and then go between those of the others.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once line line_away
 * @when (groups > 1 or dilation_w > 1) and acc_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * @pack w: G O/8! H WI/2! o8 wi2 @pack b: G O/8! o8 @pack m: G O/8! o8 @pack e: G O/8! o8
 * @scratch ((out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1) * ((out_w - 1) * stride_w // dilation_w + k_w) * (in_c // groups) * 2
 * @scratch + 64 + out_h * out_w * (out_c // groups)
 * @apart */
/* Convolution of int8 in groups, sums of sixteen outputs at a time: see pixel_rows_s8_x86.h.
 * @as avx512/conv2d_int.groups x8=x16 @pack w: G O/16! H WI/4! o16 wi4 @pack b: G O/16! o16 @pack m: G O/16! o16
 * @pack e: G O/16! o16 @fold b: -128 w
 * @scratch ((out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1) * ((out_w - 1) * stride_w // dilation_w + k_w) * (in_c // groups)
 * @scratch + 64 + out_h * out_w * (out_c // groups) */
/* Convolution of int8 in groups, by AVX-VNNI, sums of eight outputs at a time: see pixel_rows_s8_x86.h.
 * @as avxvnni/conv2d_int.groups x8=x8v like avx512/conv2d_int.groups @pack w: G O/8! H WI/4! o8 wi4 @pack b: G O/8! o8
 * @pack m: G O/8! o8 @pack e: G O/8! o8 */
#include "edgekit/contracts/conv2d_int.h"
#include "edgekit/simd/x86/rules_x86.h"

/* One row of a group of the bordered image: `columns` from column `left` on, each `dilation_w` after the last one. */
EK_INLINE void EK_FN_row(const EK_X *x, uint8_t *y, const int32_t row, const int32_t left,
    const int32_t columns, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, is_inside = row >= 0 && row < p->in_h;
    for (int32_t v = 0; v < columns; v++, y += depth * EK_X8_SIZE) {
        const int32_t column = left + v * p->dilation_w;
        if (!is_inside || column < 0 || column >= p->in_w)
            ek_x8_fill(p->in_zero, y, depth);
        else if (p->step_c == 1)
            ek_x8_copy(x + row * p->step_h + column * p->step_w, y, depth);
        else
            for (int32_t c = 0; c < depth; c++)
                ek_x8_fill(x[row * p->step_h + column * p->step_w + c * p->step_c], y + c * EK_X8_SIZE, 1);
    }
}

/* The results of a group in every `phases`th column from column `phase` on. */
EK_INLINE void EK_FN_phase(const EK_X *x, EK_Y *y, uint8_t *scratch, const int32_t phase,
    const int32_t phases, const struct ek_x8_layer *group, const struct EK_STRUCT *p)
{
    const int32_t rows = (p->out_h - 1) * p->stride_h + (p->k_h - 1) * p->dilation_h + 1;
    const int32_t depth = p->in_c / p->groups, length = (p->out_w - phase + phases - 1) / phases;
    const int32_t stride = phases * p->stride_w / p->dilation_w, columns = (length - 1) * stride + p->k_w;
    const int32_t row_step = columns * depth * EK_X8_SIZE, step = stride * depth * EK_X8_SIZE;
    const int32_t left = phase * p->stride_w - p->pad_left, outputs = group->outputs;
    struct ek_x8_layer s = *group;
    s.row_step = p->dilation_h * row_step;
    for (int32_t h = 0; h < rows; h++)
        EK_FN_row(x, scratch + h * row_step, h - p->pad_top, left, columns, p);
    int8_t *const results = (int8_t *)scratch + rows * row_step + 64;
    if (step * length == p->stride_h * row_step)
        ek_x8_lines(scratch, results, 1, 0, step, p->out_h * length, &s);
    else
        ek_x8_lines(scratch, results, p->out_h, p->stride_h * row_step, step, length, &s);
    for (int32_t h = 0; h < p->out_h; h++)
        for (int32_t i = 0; i < length; i++)
            for (int32_t o = 0; o < outputs; o++)
                y[(h * p->out_w + phase + i * phases) * p->out_c + o] =
                    results[(h * length + i) * outputs + o];
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups, kind = EK_RULE(kind);
    const int32_t steps = (p->k_w * depth * EK_X8_SIZE + EK_X8_STEP - 1) / EK_X8_STEP;
    const int32_t padded = (outputs + EK_X8_LANES - 1) / EK_X8_LANES * EK_X8_LANES;
    const int32_t e_step = kind <= ek_requantize_e_wide_kind ? 0
                           : kind >= ek_requantize_line_kind ? 4 * padded
                                                             : padded;
    int32_t phases = 1; /* until the same columns of taps come again */
    while (phases < p->out_w && phases * p->stride_w % p->dilation_w != 0)
        phases++;
    for (int32_t n = 0; n < p->batch;
        n++, x += p->in_h * p->in_w * p->in_c, y += p->out_h * p->out_w * p->out_c)
        for (int32_t g = 0; g < p->groups; g++) {
            const struct ek_x8_layer s = {p->k_h, steps, 0, outputs, kind, p->zero, p->lo, p->hi,
                w + g * padded * p->k_h * steps * (EK_X8_STEP / EK_X8_SIZE), b + g * padded, m + g * padded,
                e + g * e_step, 0, 1};
            for (int32_t phase = 0; phase < phases; phase++)
                EK_FN_phase(x + g * depth * p->step_c, y + g * outputs, scratch, phase, phases, &s, p);
        }
}
