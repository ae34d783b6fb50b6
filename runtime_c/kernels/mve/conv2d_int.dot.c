/* Convolution of int8 with Helium: two pixels and four outputs at once, see ek_mve_dot_2x4. Windows that are not
 * side by side in x already are gathered first. All are read in blocks of 16: what is too much meets weights of 0.
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e tfl once
 * when step_c == 1 and (groups == 1 or out_c // groups % 4 == 0) and (most_exponent <= 0 or least_exponent > 32)
 * pack w: G O/4! HWI/16! o4 hwi16
 * pack b: O/4! o4
 * pack m: O/4! o4
 * pack e: O/4! o4
 * scratch 32 * ((k_h * k_w * (in_c // groups) + 15) // 16) */
#include "edgekit/conv2d_int.h"

/* The window at (top, left), maybe outside of x, as k_h k_w depth bytes. */
EK_INLINE const int8_t *EK_FN_window(
    const int8_t *x, const int8_t *end, int32_t top, int32_t left, int8_t *scratch, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, run = p->k_w * depth, whole = (p->k_h * run + 15) / 16 * 16;
    const int side_by_side = p->dilation_w == 1 && p->step_w == depth;
    int8_t *to = scratch;
    if (p->k_h == 1 && (p->k_w == 1 || side_by_side) && top >= 0 && top < p->in_h && left >= 0
        && left + p->k_w <= p->in_w) {
        const int8_t *from = x + top * p->step_h + left * p->step_w;
        if (end - from >= whole)
            return from;
    }
    for (int32_t i = 0; i < p->k_h; i++, to += run) {
        const int32_t row = top + i * p->dilation_h;
        if (row < 0 || row >= p->in_h)
            ek_mve_fill(to, p->in_zero, run);
        else if (side_by_side && left >= 0 && left + p->k_w <= p->in_w)
            ek_mve_copy(to, x + row * p->step_h + left * p->step_w, run);
        else
            for (int32_t j = 0; j < p->k_w; j++) {
                const int32_t column = left + j * p->dilation_w;
                if (column < 0 || column >= p->in_w)
                    ek_mve_fill(to + j * depth, p->in_zero, depth);
                else
                    ek_mve_copy(to + j * depth, x + row * p->step_h + column * p->step_w, depth);
            }
    }
    return scratch;
}

/* Outputs `first` to first + 3, at most `count` of them, of two pixels. */
EK_INLINE void EK_FN_block(const int8_t *x0, const int8_t *x1, const int8_t *w, const int32_t *b,
    const int32_t *m, const int8_t *e, int8_t *y0, int8_t *y1, int32_t first, int32_t blocks, int32_t count,
    const struct EK_STRUCT *p)
{
    const int32x4_t bias = vldrwq_s32(b + first), factor = vldrwq_s32(m + first);
    const int32x4_t exponent = EK_RULE(exponents)(e, first);
    int32x4_t sum0, sum1;
    ek_mve_dot_2x4(x0, x1, w, blocks, &sum0, &sum1);
    sum0 = EK_RULE(x4)(vaddq_s32(sum0, bias), factor, exponent);
    sum1 = EK_RULE(x4)(vaddq_s32(sum1, bias), factor, exponent);
    ek_mve_store_x4(y1 + first, sum1, p->zero, p->lo, p->hi, count);
    ek_mve_store_x4(y0 + first, sum0, p->zero, p->lo, p->hi, count);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups, pixels = p->out_h * p->out_w;
    const int32_t blocks = (p->k_h * p->k_w * depth + 15) / 16, rest = outputs % 4;
    const int8_t *end = x + p->batch * p->in_h * p->in_w * p->in_c;
    int8_t *windows = (int8_t *)scratch;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c) {
        int32_t top = -p->pad_top, left = -p->pad_left, v = 0;
        for (int32_t i = 0; i < pixels; i += 2) {
            const int32_t top0 = top, left0 = left;
            v++, left += p->stride_w;
            if (v == p->out_w)
                v = 0, left = -p->pad_left, top += p->stride_h;
            const int32_t pair = i + 1 < pixels;
            /* An odd pixel is computed twice, and written to the same place. */
            const int32_t top1 = pair ? top : top0, left1 = pair ? left : left0;
            int8_t *y1 = pair ? y + p->out_c : y;
            v++, left += p->stride_w;
            if (v == p->out_w)
                v = 0, left = -p->pad_left, top += p->stride_h;
            for (int32_t g = 0; g < p->groups; g++) {
                const int8_t *x0 = EK_FN_window(x + g * depth, end, top0, left0, windows, p);
                const int8_t *x1 = EK_FN_window(x + g * depth, end, top1, left1, windows + 16 * blocks, p);
                const int8_t *from = w + g * ((outputs + 3) / 4) * blocks * 64;
                int32_t o = g * outputs;
                for (; o < g * outputs + outputs - rest; o += 4, from += 64 * blocks)
                    EK_FN_block(x0, x1, from, b, m, e, y, y1, o, blocks, 4, p);
                if (rest)
                    EK_FN_block(x0, x1, from, b, m, e, y, y1, o, blocks, rest, p);
            }
            y += 2 * p->out_c;
        }
        if (pixels % 2)
            y -= p->out_c;
    }
}
