/* Convolution of int8 with DSP instructions, two pixels at a time: see im2col_pairs_dsp.h and pixel_pairs_dsp.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule tfl=pair_tfl tfl_up=pair_tfl_up e=pair_e e_wide=pair_e
 * @when step_c == 1 and out_h * out_w > 1 and acc_bits + weight_shift <= 30 and weight_shift <= 7
 * @pack w: G O/4! H WI/4! wi4/2(0213) o4 wi2 : s16 x{2 << weight_shift}
 * @pack b: G O/4! o4 : s32 x{2 << weight_shift} @pack e: O : s8 x-1 +-{1 + weight_shift}
 * @scratch 5 * k_h * ((k_w * (in_c // groups) + 3) // 4 * 4) @order windows 2
 * @count pairs: batch * groups * ((out_h * out_w + 1) // 2)
 * @count pair numbers: pairs * k_h * ((k_w * (in_c // groups) + 3) // 4 * 4)
 * @count uneven lines: batch * groups * k_h * (out_h * out_w - whole_h * whole_w * (groups * dilation_w == 1))
 * @count uneven lines: * (k_w * (in_c // groups) % 4 > 0)
 * @loads w: batch * ((out_h * out_w + 1) // 2)
 * @work calls 300, clamped outputs 10, pair numbers 2.5, paired outputs 15, paired products 1.4, pairs 120
 * @work parted window lines 110, uneven lines 60 */
/* The same with weights in 8 bits.
 * @as dsp/conv2d_int.pairs_bytes @without when
 * @rule tfl=pair_tfl_bytes tfl_up=pair_tfl_up_bytes e=pair_e_bytes e_wide=pair_e_bytes
 * @when acc_bits <= 23 and weight_shift == 0 and least_weight > -128 and step_c == 1
 * @when out_h * out_w > 1 @pack w: G O/4! H WI/4! wi4/2(0213) o4/2 wi2 o2 : carry s8
 * @pack b: G O/4! o4 : s32 @pack e: O : s8 x-1 +-1
 * @work calls, clamped outputs, pair numbers, paired outputs, paired products, pairs, parted window lines
 * @work uneven lines */
/* An int8 image in planes of channels: see im2col_chw_dsp.h.
 * @as dsp/conv2d_int.pairs_chw cells=planes @without when step_c == 1 @when step_c > 1
 * @work calls, clamped outputs, paired outputs, paired products, parted window lines, positions
 * @work tap 4-vectors, tap cells beside 4-vectors */
/* An int8 image in planes of channels, weights in 8 bits.
 * @as dsp/conv2d_int.pairs_chw_bytes cells=planes like dsp/conv2d_int.pairs_bytes
 * @without when step_c == 1 @when step_c > 1
 * @work border cells, inputs, output window lines, paired outputs, paired products, parted windows
 * @work positions, products by 64 outputs */
/* Results of 16 bits.
 * @as dsp/conv2d_int.pairs_s8_s16 Y=s16 @rule e=pair_e_s16 e_wide=pair_e_s16
 * @work calls, clamped outputs, pair numbers, paired outputs, paired products, pairs, parted window lines
 * @work uneven lines */
/* Numbers and results of 16 bits.
 * @as dsp/conv2d_int.pairs_s16 X=s16 Y=s16 cells=half_cells @rule e=pair_e_s16 e_wide=pair_e_s16
 * @scratch 6 * k_h * ((k_w * (in_c // groups) + 3) // 4 * 4)
 * @work calls, clamped outputs, pair numbers, paired outputs, paired products, pairs, parted window lines
 * @work uneven lines */
/* Numbers of 16 bits, results of 8.
 * @as dsp/conv2d_int.pairs_s16_s8 Y=s8 like dsp/conv2d_int.pairs_s16 @rule e=pair_e e_wide=pair_e
 * @work calls, clamped outputs, pair numbers, paired outputs, paired products, pairs, parted window lines
 * @work uneven lines */
#include "edgekit/contracts/conv2d_int.h"

static EK_SHARED void EK_FN_run(const EK_X *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, int32_t *numbers, const struct EK_STRUCT *p)
{
    const int32_t size = (int32_t)sizeof(EK_X), depth = p->in_c / p->groups, outputs = p->out_c / p->groups;
    const int32_t cells = (p->k_w * depth + 3) / 4 * 4, padded = (outputs + 3) / 4 * 4;
    struct ek_window_rows windows = {
        {p->in_h, p->in_w, depth * size, p->step_h * size, p->step_w * size, p->step_c,
            cells == p->k_w * depth ? p->k_h : 1, p->k_w, p->dilation_h, p->dilation_w, p->in_zero},
        p->k_h, cells, cells * size, p->out_w, p->stride_h, p->stride_w, p->pad_left, 0, 0, 0, 0};
    struct ek_pixel_pair layer;
    EK_Y *const start = y;
    layer.depth = 4 * p->k_h * cells;
    layer.outputs = outputs;
    EK_RULE(constants)(e, p->zero, &layer.offset, &layer.shift);
    for (int32_t n = 0; n < p->batch; n++, y += p->out_h * p->out_w * p->out_c) {
        layer.w = w;
        layer.b = b;
        layer.m = m;
        layer.e = e;
        for (int32_t g = 0; g < p->groups; g++, x += depth * p->step_c) {
            EK_Y *to = y + g * outputs;
            ek_start_windows(&windows, -p->pad_top);
            for (int32_t left = p->out_h * p->out_w; left > 0; left -= 2, to += 2 * p->out_c) {
                layer.step = left > 1 ? p->out_c * (int32_t)sizeof(EK_Y) : 0;
                ek_cells_spread((const int8_t *)x, numbers, left, &windows);
                EK_RULE(pixels)(numbers, to, &layer);
            }
            layer.w = (const int8_t *)layer.w + padded * p->k_h * cells * EK_RULE(weight);
            layer.b += padded;
            layer.m += outputs;
            layer.e += outputs;
        }
        x += p->in_h * p->in_w * p->in_c - p->in_c * p->step_c;
    }
    ek_clamp_numbers(start, (int32_t)(y - start), p->lo, p->hi, sizeof(EK_Y));
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, (int32_t *)(void *)scratch, p);
}
