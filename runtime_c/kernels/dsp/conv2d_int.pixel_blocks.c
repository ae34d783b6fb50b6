/* Convolution of int8 with DSP instructions, two pixels at a time, without the blocks of weights that are zero: see
 * gemm_block_sparse_dsp.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule tfl=tfl_blocks tfl_up=tfl_blocks e=e_blocks e_wide=e_blocks
 * @when zero_blocks(1, 4) >= 39 + 700 // in_c and out_w > 1 and k_h == 1 and k_w == 1
 * @when groups == 1 and step_c == 1 and in_c % 4 == 0 and pad_top == 0 and (out_h - 1) * stride_h < in_h
 * @when pad_left == 0 and (out_w - 1) * stride_w < in_w and acc_bits + weight_shift <= 30
 * @when weight_shift <= 7 @pack w: blocks O/1! HWI/4! o1 hwi4(0213) : s16 x{2 << weight_shift}
 * @pack b: O : s32 x{2 << weight_shift} @pack e: O : s8 x-1 +-{1 + weight_shift} @order pixels 1 2
 * @loads w: batch * out_h * ((out_w + 1) // 2)
 * @work clamped outputs, output windows, padded products, products by 32 outputs, products of row ends */
/* Convolution of int8 with DSP instructions, two pixels at a time, without the blocks of weights that are zero, the
 * others in 8 bits.
 * @as dsp/conv2d_int.pixel_blocks_bytes @without when
 * @rule tfl=tfl_blocks_bytes tfl_up=tfl_blocks_bytes e=e_blocks_bytes e_wide=e_blocks_bytes
 * @when zero_blocks(1, 4) >= 52 and acc_bits <= 30 and weight_shift == 0 and k_h == 1
 * @when k_w == 1 and groups == 1 and step_c == 1 and in_c % 4 == 0 and pad_top == 0
 * @when (out_h - 1) * stride_h < in_h and pad_left == 0 and (out_w - 1) * stride_w < in_w
 * @pack w: blocks O/1! HWI/4! o1 hwi4 : s8 @pack b: O : s32 @pack e: O : s8 x-1 +-1
 * @work clamped outputs, output window lines, padded products, products of row ends */
#include "edgekit/contracts/conv2d_int.h"

static EK_SHARED void EK_FN_run(const EK_X *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, const struct EK_STRUCT *p)
{
    struct ek_dots layer;
    layer.w = w;
    layer.b = b;
    layer.m = m;
    layer.e = e;
    layer.depth = p->in_c;
    layer.outputs = p->out_c;
    EK_RULE(constants)(e, p->zero, &layer.offset, &layer.shift);
    EK_Y *const first = y;
    const int32_t step = p->stride_w * p->in_c;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++) {
            const EK_X *pixel = x + h * p->stride_h * p->step_h;
            int32_t left = p->out_w;
            for (; left >= 2; left -= 2, pixel += 2 * step, y += 2 * p->out_c)
                EK_RULE(two)(pixel, step, y, &layer);
            if (left) {
                EK_RULE(dots)(pixel, y, &layer);
                y += p->out_c;
            }
        }
    ek_clamp_bytes(first, (int32_t)(y - first), p->lo, p->hi);
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, p);
}
