/* Convolution of int8 with Helium, and a sum by factors. The cells that the windows of two pixels side by side have
 * together are gathered once: see gemm_shared_window_mve.h. Rows of windows are whole blocks of 16.
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule e tfl tfl_up
 * @when step_c == 1 and step_w == in_c and groups == 1 and dilation_w == 1 and stride_w < k_w
 * @when k_w * in_c % 16 == 0 and (most_exponent <= 0 or least_exponent > 32)
 * @pack w: O/4! HWI/16! o4 hwi16
 * @pack b: O/4! o4
 * @pack m: O/4! o4
 * @pack e: O/4! o4
 * @scratch k_h * (k_w + stride_w) * in_c
 * @order windows 1 */
/* Convolution of int8 and a sum by factors, with Helium.
 * @as mve/conv2d_add_int
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule e=e_sum tfl=tfl_sum tfl_up=tfl_up_sum
 * @when step_c == 1 and step_w == in_c and groups == 1 and dilation_w == 1 and stride_w < k_w
 * @when k_w * in_c % 16 == 0 and (most_exponent <= 0 or least_exponent > 32)
 * @when add[3] > 0 and add[4] == -128 and add[5] == 127 */
#include "edgekit/contracts/conv2d_int.h"

static EK_SHARED void EK_FN_run(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_ADD(const int8_t *r, ) int8_t *y, int8_t *window, const struct EK_STRUCT *p)
{
    const int32_t columns = p->k_w + p->stride_w, run = columns * p->in_c, next = p->stride_w * p->in_c;
    const int32_t height = (p->k_h - 1) * p->dilation_h;
    const struct ek_mve_window shape = {p->in_h - 1 - height, p->in_w - columns, p->k_h, run,
        p->dilation_h * p->step_h, p->step_h, p->step_w, p->in_h, p->in_w, p->in_c, columns, p->dilation_h, 1,
        p->in_zero};
    const int32_t blocks = p->k_w * p->in_c / 16;
    struct ek_pair pair;
    pair.of = (struct ek_two_pixels){
        window, window + next, y, y, b, m, e, blocks, w, p->zero, p->out_c, p->lo, p->hi};
    pair.rows = p->k_h;
    pair.skip = next;
    EK_ADD(pair.first = p->add[0];)
    EK_ADD(pair.second = p->add[1];)
    EK_ADD(pair.constant = p->add[2];)
    EK_ADD(pair.shift = -p->add[3];)
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++) {
            const int32_t top = h * p->stride_h - p->pad_top;
            int32_t left = -p->pad_left;
            for (int32_t v = 0; v < p->out_w; v += 2, left += 2 * p->stride_w) {
                /* The last pixel of an odd row is computed twice, and written to the same place. */
                const int32_t second = v + 1 < p->out_w ? 1 : 0, step = second * p->out_c;
                ek_mve_gather(window, x, top, left, &shape);
                pair.of.x1 = window + second * next;
                pair.of.y0 = y;
                pair.of.y1 = y + step;
                EK_ADD(pair.r0 = r;)
                EK_ADD(pair.r1 = r + step;)
                EK_RULE(pair)(&pair);
                y += p->out_c + step;
                EK_ADD(r += p->out_c + step;)
            }
        }
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_ADD(const EK_Y *r, ) EK_Y *y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, EK_ADD(r, ) y, (int8_t *)scratch, p);
}
