/* Depthwise convolution of int8 with Helium: 16 channels of a pixel at once. Two products fit into 16 bits; their sums
 * go to 32 bits in four vectors, every fourth channel in each, and b, m and e are in that order.
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e tfl once
 * when in_c == out_c and (most_exponent <= 0 or least_exponent > 32)
 * pack w: O/16! HWI o16
 * pack b: O/16! o16(048c26ae159d37bf)
 * pack m: O/16! o16(048c26ae159d37bf)
 * pack e: O/16! o16(048c26ae159d37bf)
 * scratch 16 */
#include "edgekit/depthwise2d_int.h"

/* Channels `first` to first + 15, `count` of them, of one pixel; all of the window is in x if `inside`. What is
 * outside of x are the bytes at `border`. */
EK_INLINE void EK_FN_block(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, const int8_t *border, const int32_t first, const int32_t top,
    const int32_t left, const int32_t count, const int inside, const struct EK_STRUCT *p)
{
    const mve_pred16_t lanes = vctp8q((uint32_t)count);
    const int32_t taps = p->k_h * p->k_w;
    int32x4_t sum0 = vldrwq_s32(b + first), sum1 = vldrwq_s32(b + first + 4),
              sum2 = vldrwq_s32(b + first + 8), sum3 = vldrwq_s32(b + first + 12);
    int16x8_t even = vdupq_n_s16(0), odd = even;
    w += first * taps;
    x += first;
    for (int32_t i = 0, t = 0; i < p->k_h; i++)
        for (int32_t j = 0; j < p->k_w; j++, t++, w += 16) {
            const int32_t row = top + i * p->dilation_h, column = left + j * p->dilation_w;
            const int8_t *from = inside || (row >= 0 && row < p->in_h && column >= 0 && column < p->in_w)
                                     ? x + (row * p->in_w + column) * p->in_c
                                     : border;
            const int8x16_t cell = count < 16 ? vldrbq_z_s8(from, lanes) : vldrbq_s8(from);
            const int8x16_t weights = vldrbq_s8(w);
            const int16x8_t bottom = vmullbq_int_s8(cell, weights), top_half = vmulltq_int_s8(cell, weights);
            even = t % 2 ? vaddq_s16(even, bottom) : bottom;
            odd = t % 2 ? vaddq_s16(odd, top_half) : top_half;
            if (t % 2 || t + 1 == taps) {
                sum0 = vaddq_s32(sum0, vmovlbq_s16(even));
                sum1 = vaddq_s32(sum1, vmovltq_s16(even));
                sum2 = vaddq_s32(sum2, vmovlbq_s16(odd));
                sum3 = vaddq_s32(sum3, vmovltq_s16(odd));
            }
        }
    sum0 = EK_RULE(x4)(sum0, vldrwq_s32(m + first), EK_RULE(exponents)(e, first));
    sum1 = EK_RULE(x4)(sum1, vldrwq_s32(m + first + 4), EK_RULE(exponents)(e, first + 4));
    even = vqmovntq_s32(vqmovnbq_s32(even, sum0), sum1);
    sum2 = EK_RULE(x4)(sum2, vldrwq_s32(m + first + 8), EK_RULE(exponents)(e, first + 8));
    sum3 = EK_RULE(x4)(sum3, vldrwq_s32(m + first + 12), EK_RULE(exponents)(e, first + 12));
    odd = vqmovntq_s32(vqmovnbq_s32(odd, sum2), sum3);
    even = vqaddq_n_s16(even, (int16_t)p->zero);
    odd = vqaddq_n_s16(odd, (int16_t)p->zero);
    int8x16_t result = vqmovntq_s16(vqmovnbq_s16(vreinterpretq_s8_s16(even), even), odd);
    if (p->lo > -128)
        result = vmaxq_s8(result, vdupq_n_s8((int8_t)p->lo));
    if (p->hi < 127)
        result = vminq_s8(result, vdupq_n_s8((int8_t)p->hi));
    if (count < 16)
        vstrbq_p_s8(y + first, result, lanes);
    else
        vstrbq_s8(y + first, result);
}

/* All channels of one pixel. */
EK_INLINE void EK_FN_pixel(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, const int8_t *border, const int32_t top, const int32_t left, const int inside,
    const struct EK_STRUCT *p)
{
    const int32_t rest = p->in_c % 16;
    int32_t first = 0;
    for (; first < p->in_c - rest; first += 16)
        EK_FN_block(x, w, b, m, e, y, border, first, top, left, 16, inside, p);
    if (rest)
        EK_FN_block(x, w, b, m, e, y, border, first, top, left, rest, inside, p);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t height = (p->k_h - 1) * p->dilation_h, width = (p->k_w - 1) * p->dilation_w;
    int8_t *border = (int8_t *)scratch;
    vstrbq_s8(border, vdupq_n_s8((int8_t)p->in_zero));
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++) {
            const int32_t top = h * p->stride_h - p->pad_top;
            for (int32_t v = 0; v < p->out_w; v++, y += p->out_c) {
                const int32_t left = v * p->stride_w - p->pad_left;
                if (top >= 0 && top + height < p->in_h && left >= 0 && left + width < p->in_w)
                    EK_FN_pixel(x, w, b, m, e, y, border, top, left, 1, p);
                else
                    EK_FN_pixel(x, w, b, m, e, y, border, top, left, 0, p);
            }
        }
}
