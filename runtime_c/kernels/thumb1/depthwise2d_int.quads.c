/* Depthwise convolution of int8 on Cortex-M0+. The cells of the windows of four pixels are found once, then channels are computed one
 * after the other, whose weights are loaded for all four: see depthwise_quads_thumb1.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e tfl tfl_up
 * @when in_c == out_c and acc_bits <= 30 and (most_exponent < 0 or least_exponent > 32)
 * @pack w: O/16! HWI o16 @pack e: O : s8 x-1 +-1 @scratch 16 * (k_h * k_w + min(in_c, 16)) + in_c @order pixels 16 4
 * @loads w: batch * ((out_h * out_w + 3) // 4) * in_c / ((in_c + 15) // 16 * 16)
 * @count quads: batch * ((out_h * out_w + 3) // 4)
 * @count taps: quads * k_h * k_w
 * @count sums: quads * in_c
 * @count tap quads: sums * k_h * k_w
 * @work quads 200, taps 20, sums 40, tap quads 16, outputs 30 */
#include "edgekit/contracts/depthwise2d_int.h"

static EK_SHARED void EK_FN_run(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, uint8_t *scratch, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c, taps = p->k_h * p->k_w;
    const int8_t **const cells = (const int8_t **)(void *)scratch, **const end = cells + 4 * taps;
    int32_t *const sums = (int32_t *)(void *)end;
    const int32_t apart = (int32_t)((intptr_t)w - (intptr_t)cells);
    int8_t *const border = (int8_t *)(sums + 4 * (depth < 16 ? depth : 16));
    for (int32_t c = 0; c < depth; c++)
        border[c] = (int8_t)p->in_zero;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * depth) {
        struct ek_quad_windows next = {x - apart, border - apart, 0, -p->pad_top, -p->pad_left, p->in_h,
            p->in_w, p->in_w * depth, depth, p->out_w, p->k_h, p->k_w, p->stride_h, p->stride_w, p->pad_left,
            p->dilation_h, p->dilation_w};
        for (int32_t left = p->out_h * p->out_w; left > 0; left -= 4) {
            const int32_t count = left < 4 ? left : 4;
            ek_find_windows(cells, count, &next);
            struct ek_quads results = ek_quads_of(count, depth, p->zero, p->lo, p->hi);
            for (int32_t c = 0; c < depth; c += 16) {
                const int32_t channels = depth - c < 16 ? depth - c : 16;
                struct ek_channel_sums made = {b + c, sums, sums + 4 * channels, apart + c * taps};
                if (c > 0)
                    ek_move_cells(cells, end, 16 * taps - 16);
                ek_sums_of_quads(cells, end, &made);
                EK_RULE(quads)(sums, made.end, m, e, c, y + c, &results);
            }
            y += count * depth;
        }
    }
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, scratch, p);
}
