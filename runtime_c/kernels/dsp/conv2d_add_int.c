/* Convolution of int8 and a sum by factors, with DSP instructions. Each window is gathered once for all outputs, and
 * each pixel is made beside y, as what is added may lie there: see im2col_dsp.h and gemm_dsp.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule tfl tfl_up=tfl e e_wide=e
 * @when groups == 1 and step_c == 1 and acc_bits + weight_shift <= 30 and weight_shift <= 7 and add[3] > 1
 * @when add[4] == -128 and add[5] == 127 @pack w: O/8! HWI/4! o8 hwi4(0213) : s16 x{2 << weight_shift}
 * @pack b: O/8! o8 : s32 x{2 << weight_shift} @pack e: O : s8 x-1 +-{1 + weight_shift}
 * @scratch (k_h * k_w * in_c + 6) // 4 * 4 + out_c
 * @loads w: batch * out_h * out_w
 * @work calls, clamped outputs, padded outputs, padded products, parted cells, parted window lines
 * @work positions, whole line blocks */
/* Convolution and sum of int8 with DSP instructions, weights in 8 bits: half the flash, half as many instructions more.
 * @as dsp/conv2d_add_int.bytes @without when acc_bits + weight_shift <= 30, when weight_shift <= 7
 * @rule tfl=tfl_bytes tfl_up=tfl_bytes e=e_bytes e_wide=e_bytes
 * @when acc_bits <= 30 and weight_shift == 0 @pack w: O/8! HWI/4! o8 hwi4 : s8
 * @pack b: O/8! o8 : s32 @pack e: O : s8 x-1 +-1
 * @work calls, clamped outputs, padded outputs, padded products, parted cells, parted window lines
 * @work positions, whole line blocks */
#include "edgekit/contracts/conv2d_add_int.h"

static EK_SHARED void EK_FN_run(const int8_t *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, const int8_t *r, int8_t *y, int8_t *window, const struct EK_STRUCT *p)
{
    struct ek_dots layer;
    layer.w = w;
    layer.b = b;
    layer.m = m;
    layer.e = e;
    const int32_t unit = EK_RULE(unit);
    layer.depth = (p->k_h * p->k_w * p->in_c + unit - 1) / unit * unit;
    layer.outputs = p->out_c;
    EK_RULE(constants)(e, p->zero, &layer.offset, &layer.shift);
    const struct ek_products sum = {p->add[0], p->add[1], p->add[2], p->add[3]};
    int8_t *const made = window + (p->k_h * p->k_w * p->in_c + 6) / 4 * 4;
    const struct ek_window shape = {p->in_h, p->in_w, p->in_c, p->step_h, p->step_w, p->step_c, p->k_h,
        p->k_w, p->dilation_h, p->dilation_w, p->in_zero};
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++, r += p->out_c, y += p->out_c) {
                ek_cells_gather(
                    x, window, h * p->stride_h - p->pad_top, v * p->stride_w - p->pad_left, &shape);
                EK_RULE(dots)(window, made, &layer);
                ek_clamp_bytes(made, p->out_c, p->lo, p->hi);
                ek_add_products(made, r, y, p->out_c, &sum);
            }
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, const EK_Y *r, EK_Y *y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, r, y, (int8_t *)scratch, p);
}
