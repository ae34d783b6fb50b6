/* Convolution of int8 with Helium: the windows of two pixels are gathered, then four outputs of both are computed at
 * once, see ek_mve_dot_2x4. Windows are read in blocks of 16: what is too much meets weights of 0.
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e tfl once
 * when step_c == 1 and (groups == 1 or out_c // groups % 4 == 0) and (most_exponent <= 0 or least_exponent > 32)
 * pack w: G O/4! HWI/16! o4 hwi16
 * pack b: O/4! o4
 * pack m: O/4! o4
 * pack e: O/4! o4
 * scratch 32 * ((k_h * k_w * (in_c // groups) + 15) // 16)
 * order windows 2 */
#include "edgekit/conv2d_int.h"

/* Puts the window at (top, left), maybe outside of x, together: k_h k_w depth bytes. */
EK_INLINE void EK_FN_gather(int8_t *to, const int8_t *x, int32_t top, int32_t left, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, run = p->k_w * depth;
    const int whole = p->dilation_w == 1 && p->step_w == depth && left >= 0 && left + p->k_w <= p->in_w;
    for (int32_t i = 0; i < p->k_h; i++, to += run) {
        const int32_t row = top + i * p->dilation_h;
        if (row < 0 || row >= p->in_h)
            ek_mve_fill(to, p->in_zero, run);
        else if (whole)
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

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups, pixels = p->out_h * p->out_w;
    const int32_t blocks = (p->k_h * p->k_w * depth + 15) / 16, rest = outputs % 4;
    int8_t *x0 = (int8_t *)scratch, *x1 = x0 + 16 * blocks;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c) {
        int32_t h = 0, v = 0;
        for (int32_t i = 0; i < pixels; i += 2) {
            /* An odd pixel is computed twice, and written to the same place. */
            const int32_t h0 = h, v0 = v, two = i + 1 < pixels;
            if (two && ++v == p->out_w)
                v = 0, h++;
            for (int32_t g = 0; g < p->groups; g++) {
                const int8_t *from = w + g * ((outputs + 3) / 4) * blocks * 64;
                int32_t o = g * outputs;
                EK_FN_gather(
                    x0, x + g * depth, h0 * p->stride_h - p->pad_top, v0 * p->stride_w - p->pad_left, p);
                EK_FN_gather(
                    x1, x + g * depth, h * p->stride_h - p->pad_top, v * p->stride_w - p->pad_left, p);
                for (; o < g * outputs + outputs - rest; o += 4, from += 64 * blocks)
                    EK_FN_block(x0, x1, from, b, m, e, y, y + two * p->out_c, o, blocks, 4, p);
                if (rest)
                    EK_FN_block(x0, x1, from, b, m, e, y, y + two * p->out_c, o, blocks, rest, p);
            }
            y += (1 + two) * p->out_c;
            if (++v == p->out_w)
                v = 0, h++;
        }
    }
}
