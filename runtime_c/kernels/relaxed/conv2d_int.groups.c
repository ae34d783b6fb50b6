/* Convolution of int8 in groups, or dilated: see pixel_rows_s8_wasm.h. The channels of a group are copied with their
 * borders, and of columns those that are `dilation_w` apart (a phase), so that windows are whole; their results are
 * computed side by side, and then go between those of the others.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once
 * @when (groups > 1 or dilation_w > 1) and least_weight > -128 @pack w: G O/8! H WI/4! o8 wi4
 * @pack b: G O/8! o8 @pack m: G O/8! o8 @pack e: G O/8! o8 @fold b: -128 w
 * @scratch ((out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1) * ((out_w - 1) * stride_w // dilation_w + k_w) * (in_c // groups)
 * @scratch + 16 + out_h * out_w * (out_c // groups)
 * @apart */
/* Convolution of int8 in groups. As the one for relaxed vectors, with cells of 16 bits.
 * @as wasm/conv2d_int.groups four=two @without when least_weight > -128, fold @pack w: G O/8! H WI/2! o8 wi2
 * @scratch ((out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1) * ((out_w - 1) * stride_w // dilation_w + k_w) * (in_c // groups) * 2
 * @scratch + 16 + out_h * out_w * (out_c // groups) */
#include "edgekit/contracts/conv2d_int.h"

/* One row of a group of the bordered image: `columns` from column `left` on, each `dilation_w` after the last one. */
EK_INLINE void EK_FN_row(const EK_X *x, uint8_t *y, const int32_t row, const int32_t left,
    const int32_t columns, const int32_t flip, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, is_inside = row >= 0 && row < p->in_h;
    for (int32_t v = 0; v < columns; v++, y += depth * EK_FOUR_BYTES) {
        const int32_t column = left + v * p->dilation_w;
        if (!is_inside || column < 0 || column >= p->in_w)
            ek_fill_wasm(y, p->in_zero, depth, EK_FOUR_CELLS, flip);
        else if (p->step_c == 1)
            ek_prepare_wasm(x + row * p->step_h + column * p->step_w, y, depth, EK_FOUR_CELLS, flip);
        else
            for (int32_t c = 0; c < depth; c++)
                ek_fill_wasm(y + c * EK_FOUR_BYTES, x[row * p->step_h + column * p->step_w + c * p->step_c],
                    1, EK_FOUR_CELLS, flip);
    }
}

/* The results of a group in every `phases`th column from column `phase` on. Once for all layers: modules are fetched. */
static EK_SHARED void EK_FN_phase(const EK_X *x, EK_Y *y, uint8_t *scratch, const int32_t phase,
    const int32_t phases, const struct ek_lines_s8_wasm *group, const struct EK_STRUCT *p)
{
    const int32_t rows = (p->out_h - 1) * p->stride_h + (p->k_h - 1) * p->dilation_h + 1;
    const int32_t depth = p->in_c / p->groups, length = (p->out_w - phase + phases - 1) / phases;
    const int32_t stride = phases * p->stride_w / p->dilation_w, columns = (length - 1) * stride + p->k_w;
    const int32_t row_step = columns * depth * EK_FOUR_BYTES, step = stride * depth * EK_FOUR_BYTES;
    const int32_t left = phase * p->stride_w - p->pad_left, flip = ek_four_unsigned_wasm() ? 128 : 0;
    const int32_t is_line = step * length == p->stride_h * row_step;
    for (int32_t h = 0; h < rows; h++)
        EK_FN_row(x, scratch + h * row_step, h - p->pad_top, left, columns, flip, p);
    struct ek_lines_s8_wasm lines = *group;
    lines.x = scratch;
    lines.y = (int8_t *)scratch + rows * row_step + 16;
    lines.lines = is_line ? 1 : p->out_h;
    lines.line_step = p->stride_h * row_step;
    lines.x_step = step;
    lines.length = is_line ? p->out_h * length : length;
    lines.row_step = p->dilation_h * row_step;
    lines.is_unsigned = flip != 0;
    ek_four_lines_wasm(&lines);
    for (int32_t h = 0; h < p->out_h; h++)
        for (int32_t i = 0; i < length; i++)
            __builtin_memcpy(y + (h * p->out_w + phase + i * phases) * p->out_c,
                lines.y + (h * length + i) * lines.outputs, (size_t)lines.outputs);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups, padded = (outputs + 7) / 8 * 8;
    const int32_t chunks = (p->k_w * depth + EK_FOUR_CELLS - 1) / EK_FOUR_CELLS;
    const int32_t kind = EK_RULE(kind), e_step = kind <= ek_requantize_e_wide_kind ? 0 : padded;
    int32_t phases = 1; /* until the same columns of taps come again */
    while (phases < p->out_w && phases * p->stride_w % p->dilation_w != 0)
        phases++;
    for (int32_t n = 0; n < p->batch;
        n++, x += p->in_h * p->in_w * p->in_c, y += p->out_h * p->out_w * p->out_c)
        for (int32_t g = 0; g < p->groups; g++) {
            const struct ek_lines_s8_wasm group = {scratch, w + g * padded * p->k_h * chunks * EK_FOUR_CELLS,
                b + g * padded, m + g * padded, e + g * e_step, y, 0, 0, 0, 0, p->k_h, chunks, 0, outputs, 0,
                {EK_RULE(one), kind, 1, p->zero, p->lo, p->hi}};
            for (int32_t phase = 0; phase < phases; phase++)
                EK_FN_phase(x + g * depth * p->step_c, y + g * outputs, scratch, phase, phases, &group, p);
        }
}
