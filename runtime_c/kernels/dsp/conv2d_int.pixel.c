/* Convolution of int8 pixel by pixel with DSP instructions: see gemm_dsp.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule tfl tfl_up=tfl e e_wide=e
 * @when k_h == 1 and k_w == 1 and groups == 1 and step_c == 1 and in_c % 4 == 0 and pad_top == 0
 * @when (out_h - 1) * stride_h < in_h and pad_left == 0 and (out_w - 1) * stride_w < in_w
 * @when acc_bits + weight_shift <= 30 and weight_shift <= 7
 * @pack w: O/8! HWI/4! o8 hwi4(0213) : s16 x{2 << weight_shift}
 * @pack b: O/8! o8 : s32 x{2 << weight_shift} @pack e: O : s8 x-1 +-{1 + weight_shift} @order pixels 8
 * @loads w: batch * out_h * out_w
 * @work calls, clamped outputs, outputs, padded outputs, padded products, positions */
/* Convolution of int8 with DSP instructions, weights in 8 bits: half the flash, half as many instructions more.
 * @as dsp/conv2d_int.pixel_bytes @without when acc_bits + weight_shift <= 30, when weight_shift <= 7
 * @rule tfl=tfl_bytes tfl_up=tfl_bytes e=e_bytes e_wide=e_bytes
 * @when acc_bits <= 30 and weight_shift == 0 @pack w: O/8! HWI/4! o8 hwi4 : s8
 * @pack b: O/8! o8 : s32 @pack e: O : s8 x-1 +-1
 * @work calls, clamped outputs, outputs, padded outputs, padded products, positions */
/* Convolution of int8 and weights of four bits with DSP instructions: see gemm_int4_dsp.h.
 * @as dsp/conv2d_int.pixel_nibbles W=s4 like dsp/conv2d_int.pixel_bytes
 * @without when in_c % 4 == 0, when weight_shift == 0 @rule e=e_nibbles
 * @when in_c % 8 == 0 and most_exponent > 32 @pack w: O/4! HWI/8! o4 hwi8(01452367) : +8 u4
 * @pack b: O/4! o4 : s32 @order pixels 4
 * @work clamped outputs, padded outputs, padded products, positions, products, tap 4-vectors */
/* Convolution of int16 with DSP instructions, results of 16 bits.
 * @as dsp/conv2d_int.pixel_s16 X=s16 Y=s16 @rule e=e_s16 e_wide=e_s16
 * @pack w: O/8! HWI/4! o8 hwi4 : s16 x{2 << weight_shift}
 * @work calls, clamped outputs, outputs, padded outputs, padded products, positions */
/* Convolution of int16 with DSP instructions, results of 8 bits.
 * @as dsp/conv2d_int.pixel_s16_s8 Y=s8 like dsp/conv2d_int.pixel_s16 @rule e=e_s16_s8 e_wide=e_s16_s8
 * @work calls, clamped outputs, outputs, padded outputs, padded products, positions */
/* Convolution of int8 with DSP instructions, results of 16 bits.
 * @as dsp/conv2d_int.pixel_s8_s16 Y=s16 @rule e=e_s8_s16 e_wide=e_s8_s16
 * @work calls, clamped outputs, outputs, padded outputs, padded products, positions */
#include "edgekit/contracts/conv2d_int.h"

static EK_SHARED void EK_FN_run(const EK_X *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, const struct EK_STRUCT *p)
{
    struct ek_dots layer;
    layer.w = w;
    layer.b = b;
    layer.m = m;
    layer.e = e;
    layer.depth = p->in_c * (int32_t)sizeof(EK_X);
    layer.outputs = p->out_c;
    EK_RULE(constants)(e, p->zero, &layer.offset, &layer.shift);
    EK_Y *const first = y;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++) {
            const EK_X *pixel = x + h * p->stride_h * p->step_h;
            for (int32_t v = 0; v < p->out_w; v++, pixel += p->stride_w * p->in_c, y += p->out_c)
                EK_RULE(dots)(pixel, y, &layer);
        }
    ek_clamp_numbers(first, (int32_t)(y - first), p->lo, p->hi, sizeof(EK_Y));
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, p);
}
