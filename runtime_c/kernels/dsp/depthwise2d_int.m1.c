/* Depthwise convolution of int8 with windows of any size with DSP instructions: four channels of a pixel at once, see
 * depthwise_dsp.h. The cells of each window are found first; those outside of x are in the border, and those that end with x
 * are copied.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule tfl tfl_up e e_wide=e
 * @when in_c == out_c and acc_bits + weight_shift <= 30 and weight_shift <= 7
 * @pack w: O/4! HWI o4(0213) : s16 x{2 << weight_shift} @pack b: O/4! o4 : s32 x{2 << weight_shift}
 * @pack e: O : s8 x-1 +-{1 + weight_shift}
 * @scratch 4 * k_h * k_w + (in_c + 3) // 4 * 4 * (1 if in_c % 4 == 0 else 1 + min(k_h * k_w, 3 // in_c + 1))
 * @order pixels 4
 * @loads w: batch * out_h * out_w
 * @work clamped outputs 10.8, lines 220, padded outputs 13.1, padded products 2.6, parted window lines 57.9
 * @work products by 64 outputs 0.0287, scratch 2.96 */
/* Depthwise convolution of int8 and weights of four bits with DSP instructions: there are few, and they are stored in
 * 16 bits.
 * @as dsp/depthwise2d_int.m1_nibbles W=s4 @without when @rule tfl tfl_up e
 * @when acc_bits <= 30 and (most_exponent < 0 or most_exponent > 32) and in_c == out_c
 * @pack w: O/4! HWI o4(0213) : s16 x2 @pack b: O/4! o4 : s32 x2 @pack e: O : s8 x-1 +-1
 * @work clamped outputs, lines, padded products, paired outputs, parted window lines, parted windows
 * @work products by 64 outputs */
/* Depthwise convolution of int8 with DSP instructions, results of 16 bits.
 * @as dsp/depthwise2d_int.m1_s8_s16 Y=s16 @rule e=e_s8_s16 e_wide=e_s8_s16
 * @work clamped outputs, lines, padded outputs, padded products, parted window lines, parted windows
 * @work products by 64 outputs */
#include "edgekit/contracts/depthwise2d_int.h"

static EK_SHARED void EK_FN_run(const int8_t *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, uint8_t *scratch, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c, taps = p->k_h * p->k_w, padded = (depth + 3) / 4 * 4;
    const struct ek_taps window = {
        p->in_h, p->in_w, depth, padded, p->k_h, p->k_w, p->dilation_h, p->dilation_w};
    const int8_t **const cells = (const int8_t **)(void *)scratch;
    int8_t *const border = (int8_t *)(cells + taps);
    EK_Y *const first = y;
    struct ek_fours pixels = {cells, w, b, m, e, depth, taps, y, 0, 0, p->stride_w * depth, 1};
    EK_RULE(constants)(e, p->zero, &pixels.offset, &pixels.shift);
    ek_fill_bytes(border, p->in_zero, padded);
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * depth)
        for (int32_t h = 0; h < p->out_h; h++) {
            const int32_t top = h * p->stride_h - p->pad_top, last = ek_last_column(top, &window);
            int32_t left = -p->pad_left;
            for (int32_t left_over = p->out_w; left_over > 0;) {
                /* Pixels side by side whose cells are all inside, and do not end with x. */
                const int32_t most = left >= 0 && left < last ? (last - left) / p->stride_w + 1 : 1;
                const int32_t taken = most < left_over ? most : left_over;
                pixels.pixels = taken;
                ek_find_cells(cells, border, x, top, left, &window);
                EK_RULE(fours)(&pixels);
                pixels.y = y += taken * depth;
                left += taken * p->stride_w;
                left_over -= taken;
            }
        }
    ek_clamp_numbers(first, (int32_t)(y - first), p->lo, p->hi, sizeof(EK_Y));
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, scratch, p);
}
