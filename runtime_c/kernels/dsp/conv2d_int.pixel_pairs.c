/* Convolution of int8 pixel by pixel with DSP instructions, two pixels at a time: see pixel_pairs_dsp.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule tfl=pair_tfl tfl_up=pair_tfl_up e=pair_e e_wide=pair_e
 * @when k_h == 1 and k_w == 1 and groups == 1 and step_c == 1 and in_c % 4 == 0 and out_h * out_w > 1
 * @when pad_top == 0 and (out_h - 1) * stride_h < in_h and pad_left == 0 and (out_w - 1) * stride_w < in_w
 * @when acc_bits + weight_shift <= 30 and weight_shift <= 7
 * @pack w: O/4! HWI/4! hwi4/2(0213) o4 hwi2 : s16 x{2 << weight_shift}
 * @pack b: O/4! o4 : s32 x{2 << weight_shift} @pack e: O : s8 x-1 +-{1 + weight_shift} @scratch 4 * in_c
 * @order windows 1
 * @count pairs: batch * ((out_h * out_w + 1) // 2 if stride_h == 1 and step_h == out_w * stride_w * in_c
 * @count pairs: else out_h * ((out_w + 1) // 2))
 * @count pair numbers: pairs * in_c
 * @count pair outputs: pairs * ((out_c + 3) // 4 * 4)
 * @count pair products: pairs * ((out_c + 3) // 4 * 4) * in_c
 * @loads w: pairs
 * @work calls, clamped outputs, outputs, pair numbers, pair outputs, pair products, pairs */
/* The same with weights in 8 bits.
 * @as dsp/conv2d_int.pixel_pairs_bytes @without when acc_bits + weight_shift <= 30, when weight_shift <= 7
 * @rule tfl=pair_tfl_bytes tfl_up=pair_tfl_up_bytes e=pair_e_bytes e_wide=pair_e_bytes
 * @when acc_bits <= 23 and weight_shift == 0 and least_weight > -128
 * @pack w: O/4! HWI/4! hwi4/2(0213) o4/2 hwi2 o2 : carry s8 @pack b: O/4! o4 : s32 @pack e: O : s8 x-1 +-1
 * @work calls, clamped outputs, outputs, pair numbers, pair outputs, pair products, pairs */
/* Results of 16 bits.
 * @as dsp/conv2d_int.pixel_pairs_s8_s16 Y=s16 @rule e=pair_e_s16 e_wide=pair_e_s16
 * @work calls, clamped outputs, outputs, pair numbers, pair outputs, pair products, pairs */
/* Numbers and results of 16 bits.
 * @as dsp/conv2d_int.pixel_pairs_s16 X=s16 Y=s16 bytes=halves @rule e=pair_e_s16 e_wide=pair_e_s16
 * @work calls, clamped outputs, outputs, pair numbers, pair outputs, pair products, pairs */
/* Numbers of 16 bits, results of 8.
 * @as dsp/conv2d_int.pixel_pairs_s16_s8 X=s16 bytes=halves @rule e=pair_e e_wide=pair_e
 * @work calls, clamped outputs, outputs, pair numbers, pair outputs, pair products, pairs */
#include "edgekit/contracts/conv2d_int.h"

static EK_SHARED void EK_FN_run(const EK_X *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, int32_t *numbers, const struct EK_STRUCT *p)
{
    struct ek_pixel_pair layer = {w, b, m, e, 0, 4 * p->in_c, p->out_c, 0, 0};
    EK_RULE(constants)(e, p->zero, &layer.offset, &layer.shift);
    EK_Y *const first = y;
    const int32_t step = p->stride_w * p->in_c, bytes = p->out_c * (int32_t)sizeof(EK_Y);
    /* Rows that lie one behind the other are one row. */
    const int is_dense = p->stride_h == 1 && p->step_h == p->out_w * step;
    const int32_t rows = is_dense ? 1 : p->out_h, columns = is_dense ? p->out_h * p->out_w : p->out_w;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < rows; h++) {
            const EK_X *pixel = x + h * p->stride_h * p->step_h;
            layer.step = bytes;
            for (int32_t left = columns; left > 0; left -= 2, pixel += 2 * step, y += 2 * p->out_c) {
                if (left == 1)
                    layer.step = 0;
                ek_bytes_spread(pixel, left == 1 ? pixel : pixel + step, numbers, p->in_c);
                EK_RULE(pixels)(numbers, y, &layer);
            }
            y -= columns % 2 * p->out_c;
        }
    ek_clamp_numbers(first, (int32_t)(y - first), p->lo, p->hi, sizeof(EK_Y));
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, (int32_t *)(void *)scratch, p);
}
