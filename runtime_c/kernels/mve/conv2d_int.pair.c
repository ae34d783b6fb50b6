/* Convolution of int8 with Helium, and a sum by factors, of which rows of windows are whole blocks of 16, three or a multiple:
 * see gemm_shared_window_mve.h. Two pixels side by side read x itself, or at its border the cells that their windows have
 * together, gathered with padding.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e tfl tfl_up
 * @when step_c == 1 and step_w == in_c and groups == 1 and dilation_w == 1 and stride_w < k_w
 * @when k_w * in_c % 48 == 0 and (most_exponent <= 0 or least_exponent > 32)
 * @pack w: O/4! HWI/16! o4 hwi16 @pack b: O/4! o4 @pack m: O/4! o4 @pack e: O/4! o4
 * @scratch k_h * (k_w + stride_w) * in_c @order pixels 4 2
 * @loads w: batch * out_h * ((out_w + 1) // 2)
 * @work border cells, calls, output windows, padded products, parted window lines, positions
 * @work products by 16 outputs, products of row ends */
/* Convolution of int8 and a sum by factors, with Helium.
 * @as mve/conv2d_add_int @without order @rule e=e_sum tfl=tfl_sum tfl_up=tfl_up_sum
 * @when add[3] > 0 and add[4] == -128 and add[5] == 127
 * @work border cells, lines, padded products, parted window lines, positions, products by 16-vectors
 * @work products of row ends, whole line blocks */
#include "edgekit/contracts/conv2d_int.h"

static EK_SHARED void EK_FN_run(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_IF_R(const int8_t *r, ) int8_t *y, int8_t *window, const struct EK_STRUCT *p)
{
    const int32_t columns = p->k_w + p->stride_w, run = columns * p->in_c, next = p->stride_w * p->in_c;
    const int32_t height = (p->k_h - 1) * p->dilation_h, width = p->k_w * p->in_c, advance = 2 * p->stride_w;
    const struct ek_mve_window shape = {p->in_h - 1 - height, p->in_w - columns, p->k_h, run,
        p->dilation_h * p->step_h, p->step_h, p->step_w, p->in_h, p->in_w, p->in_c, columns, p->dilation_h, 1,
        p->in_zero};
    struct ek_pair pair;
    pair.of =
        (struct ek_two_pixels){b, m, y, y, window, window, e, width / 48, w, p->zero, p->out_c, p->lo, p->hi};
    pair.rows = p->k_h;
    pair.advance = 2 * next;
    EK_IF_R(pair.first = p->add[0];)
    EK_IF_R(pair.second = p->add[1];)
    EK_IF_R(pair.constant = p->add[2];)
    EK_IF_R(pair.shift = -p->add[3];)
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++) {
            const int32_t top = h * p->stride_h - p->pad_top, is_high = top >= 0 && top <= shape.most_top;
            int32_t left = -p->pad_left, left_over = p->out_w;
            while (left_over > 0) {
                /* The last pixel of an odd row is computed twice, and written to the same place. */
                const int32_t second = left_over > 1 ? 1 : 0;
                const int is_inside = is_high && left >= 0 && left <= shape.most_left;
                const int32_t whole = is_inside ? (shape.most_left - left) / advance + 1 : 0;
                const int32_t pairs = whole < left_over / 2 ? whole : left_over / 2;
                pair.pairs = pairs > 0 ? pairs : 1;
                if (pairs > 0) {
                    pair.of.x0 = x + top * p->step_h + left * p->step_w;
                    pair.skip = shape.down - width;
                } else {
                    ek_mve_gather(window, x, top, left, &shape);
                    pair.of.x0 = window;
                    pair.skip = next;
                }
                pair.of.x1 = pair.of.x0 + second * next;
                pair.of.y0 = y;
                pair.of.y1 = y + second * p->out_c;
                EK_IF_R(pair.r0 = r;)
                EK_IF_R(pair.r1 = r + second * p->out_c;)
                const int32_t done = pair.pairs * (1 + second);
                EK_RULE(pair)(&pair);
                left += done * p->stride_w;
                left_over -= done;
                y += done * p->out_c;
                EK_IF_R(r += done * p->out_c;)
            }
        }
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_IF_R(const EK_Y *r, ) EK_Y *y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, EK_IF_R(r, ) y, (int8_t *)scratch, p);
}
