/* Convolution of int8 with windows of one cell with Helium: see gemm_mve.h. Those of two pixels are copied: y may lie
 * over them.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide=e_up tfl tfl_up
 * @when k_h == 1 and k_w == 1 and groups == 1 and step_c == 1 and pad_top == 0
 * @when (out_h - 1) * stride_h < in_h and pad_left == 0 and (out_w - 1) * stride_w < in_w
 * @when (most_exponent <= 0 or least_exponent + weight_shift > 31)
 * @when (most_exponent <= 0 or acc_bits + weight_shift <= 31) @pack w: O/4! HWI/16! o4 hwi16
 * @pack b: O/4! o4 @pack m: O/4! o4 @pack e: O/4! o4 @scratch 32 * ((in_c + 15) // 16) @order windows 2
 * @loads w: batch * ((out_h * out_w + 1) // 2)
 * @work calls, lines, paired outputs, paired products, positions, whole line blocks */
/* Convolution with windows of one cell of int8 with Helium, results of 16 bits.
 * @as mve/conv2d_int.pixel_s8_s16 Y=s16 @rule e=e_s8_s16 e_wide=e_up_s8_s16
 * @work calls, paired outputs, paired products, positions, whole line blocks */
#include "edgekit/contracts/conv2d_int.h"

static EK_SHARED void EK_FN_run(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, int8_t *copy, const struct EK_STRUCT *p)
{
    const int32_t blocks = (p->in_c + 15) / 16, step = p->stride_w * p->step_w;
    struct ek_two_pixels two = {b, m, y, y, copy, copy, e, blocks, w, p->zero, p->out_c, p->lo, p->hi};
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c) {
        const int8_t *line = x, *cells = x;
        int32_t column = p->out_w;
        for (int32_t left_over = p->out_h * p->out_w; left_over > 0;) {
            int8_t *to = copy;
            two.y0 = y;
            /* An odd pixel is computed twice, and written to the same place. */
            two.x1 = left_over > 1 ? copy + 16 * blocks : copy;
            for (int32_t i = 0; i < 2 && left_over > 0; i++, left_over--, to += 16 * blocks) {
                ek_mve_copy(to, cells, p->in_c);
                two.y1 = y;
                y += p->out_c;
                cells += step;
                if (--column == 0) {
                    column = p->out_w;
                    cells = line += p->stride_h * p->step_h;
                }
            }
            EK_RULE(two_pixels)(&two);
        }
    }
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, (int8_t *)scratch, p);
}
