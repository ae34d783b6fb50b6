/* Depthwise convolution of int8 with Helium: 16 channels of a pixel at once, see depthwise_mve.h. The cells of each window are
 * found first; those outside of x are in the border, and those that end with x are copied.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e tfl tfl_up
 * @when in_c == out_c and least_weight > -128 and (most_exponent <= 0 or least_exponent > 32)
 * @pack w: O/16! HWI o16 @pack b: O/16! o16(048c26ae159d37bf) @pack m: O/16! o16(048c26ae159d37bf)
 * @pack e: O/16! o16(048c26ae159d37bf)
 * @scratch 4 * k_h * k_w + (in_c + 15) // 16 * 16 * (1 if in_c % 16 == 0 else 1 + min(k_h * k_w, 15 // in_c + 1))
 * @order pixels 16
 * @loads w: batch * out_h * out_w
 * @work lines, padded products, paired outputs, parted window lines, products by 64 outputs
 * @work products of row pairs, scratch */
/* Depthwise convolution of int8 and weights of four bits with Helium: there are few, and they are stored in 8 bits.
 * @as mve/depthwise2d_int.m1_nibbles W=s4 @rule e tfl
 * @work calls, lines, padded products, paired outputs, parted window lines, parted windows
 * @work products by 64 outputs */
#include "edgekit/contracts/depthwise2d_int.h"

static EK_SHARED void EK_FN_run(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, uint8_t *scratch, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c, taps = p->k_h * p->k_w, padded = (depth + 15) / 16 * 16;
    const struct ek_taps window = {
        p->in_h, p->in_w, depth, padded, p->k_h, p->k_w, p->dilation_h, p->dilation_w};
    const int8_t **const cells = (const int8_t **)(void *)scratch;
    int8_t *const border = (int8_t *)(cells + taps);
    struct ek_channels pixels = {
        cells, w, b, m, e, depth, taps, y, p->zero, p->lo, p->hi, p->stride_w * depth, 1};
    ek_mve_fill(border, p->in_zero, padded);
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
                EK_RULE(channels)(&pixels);
                pixels.y += taken * depth;
                left += taken * p->stride_w;
                left_over -= taken;
            }
        }
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, scratch, p);
}
