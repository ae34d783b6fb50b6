/* Convolution of int8 on Cortex-M0+. The windows of four pixels are packed for all outputs, of which eight advance together: two
 * pixels share a multiplication, see swar_thumb1.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e tfl tfl_up
 * @when groups == 1 and step_c == 1 and least_weight > -128
 * @when acc_bits <= 30 and (most_exponent < 0 or least_exponent > 32)
 * @pack w: O/8! HWI/4! hwi4 o8 @pack e: O : s8 x-1 +-1
 * @scratch (k_h * k_w * in_c + 3) // 4 * 32 + max(128, 16 * k_h * k_w) + in_c @order windows 4
 * @loads w: batch * ((out_h * out_w + 3) // 4) * out_c / ((out_c + 7) // 8 * 8)
 * @count quads: batch * ((out_h * out_w + 3) // 4)
 * @count taps: quads * k_h * k_w
 * @count cells: taps * in_c
 * @count sums: quads * out_c
 * @count product blocks: sums * ((k_h * k_w * in_c + 3) // 4)
 * @work quads 200, taps 70, cells 14, sums 30, product blocks 34, outputs 45 */
#include "edgekit/contracts/conv2d_int.h"

static EK_SHARED void EK_FN_run(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, uint8_t *scratch, const struct EK_STRUCT *p)
{
    const int32_t taps = p->k_h * p->k_w, products = taps * p->in_c, bytes = (products + 3) / 4 * 32;
    int32_t *const sums = (int32_t *)(void *)(scratch + bytes); /* where pointers to cells were */
    const int8_t **const cells = (const int8_t **)(void *)sums;
    int8_t *const border = (int8_t *)(sums + (taps > 8 ? 4 * taps : 32));
    for (int32_t c = 0; c < p->in_c; c++)
        border[c] = (int8_t)p->in_zero;
    for (int32_t i = products / 4 * 8; i < bytes / 4; i++)
        ((int32_t *)(void *)scratch)[i] = 0;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c) {
        struct ek_quad_windows next = {x, border, 0, -p->pad_top, -p->pad_left, p->in_h, p->in_w, p->step_h,
            p->step_w, p->out_w, p->k_h, p->k_w, p->stride_h, p->stride_w, p->pad_left, p->dilation_h,
            p->dilation_w};
        for (int32_t left = p->out_h * p->out_w; left > 0; left -= 4) {
            const int32_t count = left < 4 ? left : 4;
            ek_find_windows(cells, count, &next);
            ek_pack_pixels(cells, cells + 4 * taps, p->in_c, scratch);
            struct ek_quads results = ek_quads_of(count, p->out_c, p->zero, p->lo, p->hi);
            const int8_t *block = w;
            for (int32_t o = 0; o < p->out_c; o += 8, block += bytes) {
                const int32_t outputs = p->out_c - o < 8 ? p->out_c - o : 8;
                struct ek_pixel_sums made = {b + o, sums, sums + 4 * outputs};
                ek_sums_of_pixels(scratch, scratch + bytes, block, &made);
                EK_RULE(quads)(sums, made.end, m, e, o, y + o, &results);
            }
            y += count * p->out_c;
        }
    }
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, scratch, p);
}
