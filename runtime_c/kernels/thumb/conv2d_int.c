/* Convolution of int8 on small Cortex-M. Each window is gathered once for all outputs of a group, of which four
 * advance together: see im2col_thumb.h. Sums of sixteen are made, then their results.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e tfl tfl_up
 * @when acc_bits <= 30 and (most_exponent < 0 or least_exponent > 32)
 * @pack w: G O/4! HWI/4! hwi4 o4 : s16 +128 u8 @pack b: G O/4! o4 @pack e: O : s8 x-1 +-1 @fold b: -128 w
 * @scratch (k_h * k_w * (in_c // groups) + 3) // 4 * 4 @order windows 1
 * @loads w: batch * out_h * out_w */
/* Convolution of int8 on Cortex-M0+. The sums are those of dot4_thumb1.h.
 * @as thumb1/conv2d_int
 * @count windows: batch * out_h * out_w * groups
 * @count copies: batch * taps_h * whole_w * (groups * step_c * dilation_w == 1)
 * @count copied bytes: copies * k_w * in_c
 * @count checked cells: (windows * k_h - copies) * k_w
 * @count checked bytes: (windows * k_h - copies) * k_w * (in_c // groups)
 * @work windows, copied bytes, checked cells, checked bytes, outputs, padded products */
#include "edgekit/contracts/conv2d_int.h"

/* Brings the window that starts at (top, left), maybe outside of x, to `to`; the sum of its cells. */
static EK_SHARED uint32_t EK_FN_gather(
    uint8_t *to, const int8_t *x, int32_t top, int32_t left, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, right = left + (p->k_w - 1) * p->dilation_w;
    const int is_dense = p->dilation_w == 1 && p->step_w == depth && p->step_c == 1;
    const int is_whole = is_dense && left >= 0 && right < p->in_w;
    uint32_t total = 0;
    for (int32_t i = 0; i < p->k_h; i++) {
        const int32_t row = top + i * p->dilation_h;
        const int8_t *const line = x + row * p->step_h;
        if (is_whole && row >= 0 && row < p->in_h) {
            total += ek_copy_cells(to, line + left * depth, p->k_w * depth);
            to += p->k_w * depth;
            continue;
        }
        for (int32_t column = left; column <= right; column += p->dilation_w, to += depth) {
            const int is_inside = row >= 0 && row < p->in_h && column >= 0 && column < p->in_w;
            const int8_t *const cell = line + column * p->step_w;
            if (is_inside && p->step_c == 1)
                total += ek_copy_cells(to, cell, depth);
            else
                for (int32_t c = 0; c < depth; c++) {
                    to[c] = (uint8_t)((is_inside ? cell[c * p->step_c] : p->in_zero) + 128);
                    total += to[c];
                }
        }
    }
    return total;
}

static EK_SHARED void EK_FN_results(const int32_t *sums, int32_t o, int32_t end, const int32_t *m,
    const int8_t *e, int8_t *y, const struct EK_STRUCT *p)
{
    const int32_t zero = p->zero, lo = p->lo, hi = p->hi; /* once: y may point anywhere */
    for (; o < end; o++)
        *y++ = ek_between_s8(zero + EK_RULE(one)(*sums++, m[o], e, o), lo, hi);
}

static EK_SHARED void EK_FN_run(const int8_t *x, const uint8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, uint8_t *window, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups;
    const int32_t cells = p->k_h * p->k_w * depth, whole = (cells + 3) / 4 * 4,
                  padded = (outputs + 3) / 4 * 4;
    ek_end_cells(window, cells);
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++)
                for (int32_t g = 0; g < p->groups; g++) {
                    const uint32_t total = EK_FN_gather(window, x + g * depth * p->step_c,
                        h * p->stride_h - p->pad_top, v * p->stride_w - p->pad_left, p);
                    for (int32_t o = 0; o < outputs; o += 16) {
                        const int32_t at = g * padded + o, first = g * outputs + o;
                        const int32_t count = outputs - o < 16 ? outputs - o : 16;
                        int32_t sums[16];
                        struct ek_sums made = {
                            b + at, (int32_t)(128 * total), sums, sums + (count + 3) / 4 * 4};
                        ek_sums_of_cells(window, window + whole, w + at * whole, &made);
                        EK_FN_results(sums, first, first + count, m, e, y, p);
                        y += count;
                    }
                }
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, (const uint8_t *)w, b, m, e, y, scratch, p);
}
