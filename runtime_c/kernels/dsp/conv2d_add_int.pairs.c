/* Convolution of int8 and a sum by factors, with DSP instructions, two pixels at a time. They are made beside y, as what is
 * added may be there: see im2col_pairs_dsp.h and pixel_pairs_dsp.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule tfl=pair_tfl tfl_up=pair_tfl_up e=pair_e e_wide=pair_e
 * @when groups == 1 and step_c == 1 and acc_bits + weight_shift <= 30 and weight_shift <= 7 and add[3] > 1
 * @when add[4] == -128 and add[5] == 127 and out_h * out_w > 1
 * @pack w: O/4! H WI/4! wi4/2(0213) o4 wi2 : s16 x{2 << weight_shift}
 * @pack b: O/4! o4 : s32 x{2 << weight_shift} @pack e: O : s8 x-1 +-{1 + weight_shift}
 * @scratch 5 * k_h * ((k_w * in_c + 3) // 4 * 4) + 2 * out_c
 * @count pairs: batch * ((out_h * out_w + 1) // 2)
 * @count pair numbers: pairs * k_h * ((k_w * in_c + 3) // 4 * 4)
 * @count uneven lines: batch * (out_h * out_w - whole_h * whole_w * (dilation_w == 1)) * k_h
 * @count uneven lines: * (k_w * in_c % 4 > 0)
 * @loads w: pairs
 * @work calls, clamped outputs, pair numbers, paired outputs, paired products, pairs, parted window lines
 * @work uneven lines */
/* The same with weights in 8 bits.
 * @as dsp/conv2d_add_int.pairs_bytes @without when acc_bits + weight_shift <= 30, when weight_shift <= 7
 * @rule tfl=pair_tfl_bytes tfl_up=pair_tfl_up_bytes e=pair_e_bytes e_wide=pair_e_bytes
 * @when acc_bits <= 23 and weight_shift == 0 and least_weight > -128
 * @pack w: O/4! H WI/4! wi4/2(0213) o4/2 wi2 o2 : carry s8 @pack b: O/4! o4 : s32 @pack e: O : s8 x-1 +-1
 * @work calls, clamped outputs, pair numbers, paired outputs, paired products, pairs, parted window lines
 * @work uneven lines */
#include "edgekit/contracts/conv2d_add_int.h"

static EK_SHARED void EK_FN_run(const int8_t *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, const int8_t *r, int8_t *y, uint8_t *scratch, const struct EK_STRUCT *p)
{
    const int32_t cells = (p->k_w * p->in_c + 3) / 4 * 4, outputs = p->out_c;
    struct ek_window_rows windows = {{p->in_h, p->in_w, p->in_c, p->step_h, p->step_w, p->step_c, 1, p->k_w,
                                         p->dilation_h, p->dilation_w, p->in_zero},
        p->k_h, cells, cells, p->out_w, p->stride_h, p->stride_w, p->pad_left, 0, 0, 0, 0};
    struct ek_pixel_pair layer = {w, b, m, e, 0, 4 * p->k_h * cells, outputs, 0, 0};
    EK_RULE(constants)(e, p->zero, &layer.offset, &layer.shift);
    const struct ek_products sum = {p->add[0], p->add[1], p->add[2], p->add[3]};
    int32_t *const numbers = (int32_t *)(void *)scratch;
    int8_t *const made = (int8_t *)scratch + 5 * p->k_h * cells;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c) {
        ek_start_windows(&windows, -p->pad_top);
        for (int32_t left = p->out_h * p->out_w; left > 0; left -= 2) {
            const int32_t made_now = left > 1 ? 2 * outputs : outputs;
            layer.step = made_now - outputs;
            ek_cells_spread(x, numbers, left, &windows);
            EK_RULE(pixels)(numbers, made, &layer);
            ek_clamp_bytes(made, made_now, p->lo, p->hi);
            ek_add_products(made, r, y, made_now, &sum);
            r += made_now;
            y += made_now;
        }
    }
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, const EK_Y *r, EK_Y *y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, r, y, scratch, p);
}
