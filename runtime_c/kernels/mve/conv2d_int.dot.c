/* Convolution of int8 with Helium: the windows of two pixels are gathered, then four outputs of both are computed at
 * once: see gemm_mve.h. Windows are read in blocks of 16: what is too much meets weights of 0.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide=e_up tfl tfl_up
 * @when step_c == 1 and (groups == 1 or out_c // groups % 4 == 0)
 * @when (most_exponent <= 0 or least_exponent + weight_shift > 31)
 * @when (most_exponent <= 0 or acc_bits + weight_shift <= 31) @pack w: G O/4! HWI/16! o4 hwi16
 * @pack b: O/4! o4 @pack m: O/4! o4 @pack e: O/4! o4
 * @scratch 32 * ((k_h * k_w * (in_c // groups) + 15) // 16) @order windows 2
 * @loads w: batch * ((out_h * out_w + 1) // 2)
 * @work calls, output windows, paired outputs, paired products, parted cells inside, parted window lines
 * @work positions, whole line blocks */
/* Convolution of an int8 image in planes of channels with Helium: see im2col_chw_mve.h.
 * @as mve/conv2d_int.chw mve_cells=mve_planes @without when step_c == 1
 * @when step_c > 1 and groups == 1
 * @scratch 32 * ((k_h * k_w * in_c + 15) // 16) + 4 * k_h * k_w * in_c
 * @work calls, paired outputs, paired products, parted window lines, parted windows, positions, scratch
 * @work tap cells beside 16-vectors */
/* Convolution of int8 with Helium, results of 16 bits.
 * @as mve/conv2d_int.dot_s8_s16 Y=s16 @rule e=e_s8_s16 e_wide=e_up_s8_s16
 * @work calls, output windows, paired outputs, paired products, parted window lines, parted windows
 * @work positions, whole line blocks */
#include "edgekit/contracts/conv2d_int.h"

static EK_SHARED void EK_FN_run(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, int8_t *window, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups;
    const int32_t blocks = (p->k_h * p->k_w * depth + 15) / 16, padded = (outputs + 3) / 4 * 4;
    const int32_t height = (p->k_h - 1) * p->dilation_h, width = (p->k_w - 1) * p->dilation_w;
    int8_t *const places = window + 32 * blocks;
    const struct ek_mve_window shape = {p->in_h - 1 - height,
        ek_mve_cells_most_left(p->in_w - 1 - width, p->dilation_w == 1 && p->step_w == depth), p->k_h,
        p->k_w * depth, p->dilation_h * p->step_h, p->step_h, p->step_w, p->in_h, p->in_w, depth, p->k_w,
        p->dilation_h, p->dilation_w, p->in_zero};
    struct ek_two_pixels two = {
        b, m, y, y, window, window + 16 * blocks, e, blocks, w, p->zero, outputs, p->lo, p->hi};
    ek_mve_cells_places(places, p->step_c, &shape);
    for (int32_t n = 0; n < p->batch; n++, y += p->out_h * p->out_w * p->out_c) {
        for (int32_t g = 0; g < p->groups; g++, x += depth) {
            int32_t left_over = p->out_h * p->out_w, column = p->out_w;
            int32_t top = -p->pad_top, left = -p->pad_left;
            two.w = w + g * padded * blocks * 16;
            two.b = b + g * padded;
            two.m = m + g * padded;
            two.e = EK_RULE(exponents_at)(e, g * padded);
            EK_Y *result = y + g * outputs;
            two.y1 = result;
            while (left_over > 0) {
                int8_t *to = window;
                two.y0 = result;
                /* An odd pixel is computed twice, and written to the same place. */
                two.x1 = left_over > 1 ? window + 16 * blocks : window;
                for (int32_t i = 0; i < 2 && left_over > 0; i++, left_over--, to += 16 * blocks) {
                    ek_mve_cells_window(to, x, top, left, &shape, places);
                    two.y1 = result;
                    result += p->out_c;
                    left += p->stride_w;
                    if (--column == 0) {
                        column = p->out_w;
                        left = -p->pad_left;
                        top += p->stride_h;
                    }
                }
                EK_RULE(two_pixels)(&two);
            }
        }
        x += p->in_h * p->in_w * p->in_c - p->in_c;
    }
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, (int8_t *)scratch, p);
}
