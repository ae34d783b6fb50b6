/* Convolution of an image of one channel of int8 and weights of four bits with DSP instructions: see gemm_int4_dsp.h.
 * @for X=s8 W=s4 Y=s8 S=s32 @rule e=e_nibbles @when in_c == 1 and acc_bits <= 30 and most_exponent > 32
 * @pack w: O/4! HWI/8! o4 hwi8(01452367) : +8 u4 @pack b: O/4! o4 : s32 @pack e: O : s8 x-1 +-1
 * @scratch (k_h * k_w + 10) // 8 * 8 @order windows 1
 * @loads w: batch * out_h * out_w
 * @work calls, clamped outputs, padded outputs, parted window lines, positions, products of row ends
 * @work products of row pairs, whole line blocks */
#include "edgekit/contracts/depthwise2d_int.h"

static EK_SHARED void EK_FN_run(const EK_X *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, uint8_t *window, const struct EK_STRUCT *p)
{
    struct ek_dots layer;
    layer.w = w;
    layer.b = b;
    layer.m = m;
    layer.e = e;
    const int32_t unit = EK_RULE(unit);
    layer.depth = (p->k_h * p->k_w + unit - 1) / unit * unit;
    layer.outputs = p->out_c;
    EK_RULE(constants)(e, p->zero, &layer.offset, &layer.shift);
    const struct ek_window shape = {
        p->in_h, p->in_w, 1, p->in_w, 1, 1, p->k_h, p->k_w, p->dilation_h, p->dilation_w, p->in_zero};
    EK_Y *const first = y;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++, y += p->out_c) {
                ek_cells_gather(
                    x, (int8_t *)window, h * p->stride_h - p->pad_top, v * p->stride_w - p->pad_left, &shape);
                EK_RULE(dots)(window, y, &layer);
            }
    ek_clamp_numbers(first, (int32_t)(y - first), p->lo, p->hi, sizeof(EK_Y));
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, scratch, p);
}
