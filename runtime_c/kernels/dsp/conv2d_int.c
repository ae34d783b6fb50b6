/* Convolution of int8 with DSP instructions. Each window is gathered once for all outputs of a group: see
 * im2col_dsp.h and gemm_dsp.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule tfl tfl_up=tfl e e_wide=e
 * @when step_c == 1 and acc_bits + weight_shift <= 30 and weight_shift <= 7
 * @pack w: G O/8! HWI/4! o8 hwi4(0213) : s16 x{2 << weight_shift}
 * @pack b: G O/8! o8 : s32 x{2 << weight_shift} @pack e: O : s8 x-1 +-{1 + weight_shift}
 * @scratch (k_h * k_w * (in_c // groups) + 6) // 4 * 4 @order windows 1
 * @loads w: batch * out_h * out_w
 * @work calls, clamped outputs, padded outputs, padded products, parted cells, parted window lines
 * @work positions, whole line blocks */
/* Convolution of int8 with DSP instructions, weights in 8 bits: half the flash, half as many instructions more.
 * @as dsp/conv2d_int.bytes @without when @rule tfl=tfl_bytes tfl_up=tfl_bytes e=e_bytes e_wide=e_bytes
 * @when acc_bits <= 30 and weight_shift == 0 and step_c == 1
 * @pack w: G O/8! HWI/4! o8 hwi4 : s8 @pack b: G O/8! o8 : s32 @pack e: O : s8 x-1 +-1
 * @work calls, clamped outputs, padded outputs, padded products, parted cells, parted window lines
 * @work positions, whole line blocks */
/* Convolution of int8 and weights of four bits with DSP instructions: see gemm_int4_dsp.h.
 * @as dsp/conv2d_int.nibbles W=s4 @without when @rule e=e_nibbles
 * @when acc_bits <= 30 and most_exponent > 32 and step_c == 1
 * @pack w: G O/4! HWI/8! o4 hwi8(01452367) : +8 u4 @pack b: G O/4! o4 : s32 @pack e: O : s8 x-1 +-1
 * @scratch (k_h * k_w * (in_c // groups) + 10) // 8 * 8
 * @work calls, clamped outputs, padded outputs, padded products, parted window lines, positions
 * @work tap 4-vectors, tap cells beside 4-vectors */
/* Convolution of an int8 image in planes of channels with DSP instructions: see im2col_chw_dsp.h.
 * @as dsp/conv2d_int.chw cells=planes @without when step_c == 1 @when step_c > 1
 * @work calls, clamped outputs, outputs, parted window lines, positions, products, tap 4-vectors
 * @work tap cells beside 16-vectors */
/* Convolution of an int8 image in planes of channels with DSP instructions, weights in 8 bits.
 * @as dsp/conv2d_int.chw_bytes cells=planes like dsp/conv2d_int.bytes @without when step_c == 1
 * @when step_c > 1
 * @work border cells, clamped outputs, output window lines, positions, products, tap 4-vectors
 * @work tap cells beside 16-vectors, window 16-vectors */
/* Convolution of an int8 image in planes of channels with DSP instructions, weights of four bits.
 * @as dsp/conv2d_int.chw_nibbles cells=planes like dsp/conv2d_int.nibbles @without when step_c == 1
 * @when step_c > 1
 * @work border cells, clamped outputs, output window lines, padded products, paired outputs, positions
 * @work tap 4-vectors, tap cells beside 16-vectors */
/* Convolution of an int16 image in planes of channels with DSP instructions, results of 16 bits.
 * @as dsp/conv2d_int.chw_s16 X=s16 Y=s16 cells=half_planes like dsp/conv2d_int.chw
 * @rule e=e_s16 e_wide=e_s16 @pack w: G O/8! HWI/4! o8 hwi4 : s16 x{2 << weight_shift}
 * @scratch 2 * ((k_h * k_w * (in_c // groups) + 6) // 4 * 4)
 * @work clamped outputs, outputs, parted window lines, positions, products, products by 64 outputs
 * @work tap 4-vectors, tap cells beside 16-vectors */
/* Convolution of an int16 image in planes of channels with DSP instructions, results of 8 bits.
 * @as dsp/conv2d_int.chw_s16_s8 Y=s8 like dsp/conv2d_int.chw_s16 @rule e=e_s16_s8 e_wide=e_s16_s8
 * @work clamped outputs, lines, output window lines, padded outputs, positions, products
 * @work products by 64 outputs, tap 4-vectors */
/* Convolution of an int8 image in planes of channels with DSP instructions, results of 16 bits.
 * @as dsp/conv2d_int.chw_s8_s16 Y=s16 like dsp/conv2d_int.chw @rule e=e_s8_s16 e_wide=e_s8_s16
 * @work calls, clamped outputs, output windows, outputs, padded products, positions, tap 4-vectors
 * @work tap cells beside 4-vectors */
/* Convolution of int16 with DSP instructions, results of 16 bits.
 * @as dsp/conv2d_int.s16 X=s16 Y=s16 @rule e=e_s16 e_wide=e_s16
 * @pack w: G O/8! HWI/4! o8 hwi4 : s16 x{2 << weight_shift}
 * @scratch 2 * ((k_h * k_w * (in_c // groups) + 6) // 4 * 4)
 * @work calls, clamped outputs, padded outputs, padded products, parted cells, parted window lines
 * @work positions, whole line blocks */
/* Convolution of int16 with DSP instructions, results of 8 bits.
 * @as dsp/conv2d_int.s16_s8 Y=s8 like dsp/conv2d_int.s16 @rule e=e_s16_s8 e_wide=e_s16_s8
 * @work calls, clamped outputs, padded outputs, padded products, parted cells, parted window lines
 * @work positions, whole line blocks */
/* Convolution of int8 with DSP instructions, results of 16 bits.
 * @as dsp/conv2d_int.s8_s16 Y=s16 @rule e=e_s8_s16 e_wide=e_s8_s16
 * @work calls, clamped outputs, padded outputs, padded products, parted cells, parted window lines
 * @work positions, whole line blocks */
#include "edgekit/contracts/conv2d_int.h"

static EK_SHARED void EK_FN_run(const EK_X *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, uint8_t *window, const struct EK_STRUCT *p)
{
    const int32_t bytes = (int32_t)sizeof(EK_X), block = EK_RULE(outputs), unit = EK_RULE(unit);
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups;
    const int32_t cells = (p->k_h * p->k_w * depth + unit - 1) / unit * unit;
    const int32_t padded = (outputs + block - 1) / block * block;
    struct ek_dots layer;
    layer.depth = cells * bytes;
    layer.outputs = outputs;
    EK_RULE(constants)(e, p->zero, &layer.offset, &layer.shift);
    EK_Y *const first = y;
    const struct ek_window shape = {p->in_h, p->in_w, depth * bytes, p->step_h * bytes, p->step_w * bytes,
        p->step_c, p->k_h, p->k_w, p->dilation_h, p->dilation_w, p->in_zero};
    for (int32_t n = 0; n < p->batch; n++, y += p->out_h * p->out_w * p->out_c) {
        layer.w = w;
        layer.b = b;
        layer.m = m;
        layer.e = e;
        for (int32_t g = 0; g < p->groups; g++, x += depth * p->step_c) {
            EK_Y *to = y + g * outputs;
            for (int32_t h = 0; h < p->out_h; h++)
                for (int32_t v = 0; v < p->out_w; v++, to += p->out_c) {
                    ek_cells_gather((const int8_t *)x, (int8_t *)window, h * p->stride_h - p->pad_top,
                        v * p->stride_w - p->pad_left, &shape);
                    EK_RULE(dots)(window, to, &layer);
                }
            layer.w = (const int8_t *)layer.w + padded * cells * EK_RULE(bits) / 8;
            layer.b += padded;
            layer.m += outputs;
            layer.e += outputs;
        }
        x += p->in_h * p->in_w * p->in_c - p->in_c * p->step_c;
    }
    ek_clamp_numbers(first, (int32_t)(y - first), p->lo, p->hi, sizeof(EK_Y));
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, scratch, p);
}
