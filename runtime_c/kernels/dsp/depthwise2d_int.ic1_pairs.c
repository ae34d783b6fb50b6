/* Convolution of an int8 image of one channel with DSP instructions, two pixels at a time: see im2col_pairs_dsp.h and
 * pixel_pairs_dsp.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule tfl=pair_tfl tfl_up=pair_tfl_up e=pair_e e_wide=pair_e
 * @when in_c == 1 and acc_bits + weight_shift <= 30 and weight_shift <= 7
 * @pack w: O/4! H WI/4! wi4/2(0213) o4 wi2 : s16 x{2 << weight_shift}
 * @pack b: O/4! o4 : s32 x{2 << weight_shift} @pack e: O : s8 x-1 +-{1 + weight_shift}
 * @scratch 5 * k_h * ((k_w + 3) // 4 * 4) @order windows 2
 * @loads w: batch * ((out_h * out_w + 1) // 2)
 * @work calls, clamped outputs, paired outputs, paired products, parted window lines, parted windows
 * @work positions, whole line blocks */
/* The same with weights in 8 bits.
 * @as dsp/depthwise2d_int.ic1_pairs_bytes @without when
 * @rule tfl=pair_tfl_bytes tfl_up=pair_tfl_up_bytes e=pair_e_bytes e_wide=pair_e_bytes
 * @when acc_bits <= 23 and weight_shift == 0 and least_weight > -128 and in_c == 1
 * @pack w: O/4! H WI/4! wi4/2(0213) o4/2 wi2 o2 : carry s8 @pack b: O/4! o4 : s32 @pack e: O : s8 x-1 +-1
 * @work calls, clamped outputs, paired outputs, paired products, parted window lines, parted windows
 * @work positions, whole line blocks */
#include "edgekit/contracts/depthwise2d_int.h"

static EK_SHARED void EK_FN_run(const EK_X *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, int32_t *numbers, const struct EK_STRUCT *p)
{
    const int32_t cells = (p->k_w + 3) / 4 * 4;
    struct ek_window_rows windows = {{p->in_h, p->in_w, 1, p->in_w, 1, 1, cells == p->k_w ? p->k_h : 1,
                                         p->k_w, p->dilation_h, p->dilation_w, p->in_zero},
        p->k_h, cells, cells, p->out_w, p->stride_h, p->stride_w, p->pad_left, 0, 0, 0, 0};
    struct ek_pixel_pair layer = {w, b, m, e, 0, 4 * p->k_h * cells, p->out_c, 0, 0};
    EK_RULE(constants)(e, p->zero, &layer.offset, &layer.shift);
    EK_Y *const first = y;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w) {
        ek_start_windows(&windows, -p->pad_top);
        for (int32_t left = p->out_h * p->out_w; left > 0; left -= 2) {
            layer.step = left > 1 ? p->out_c : 0;
            ek_cells_spread(x, numbers, left, &windows);
            EK_RULE(pixels)(numbers, y, &layer);
            y += p->out_c + layer.step;
        }
    }
    ek_clamp_bytes(first, (int32_t)(y - first), p->lo, p->hi);
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, (int32_t *)(void *)scratch, p);
}
