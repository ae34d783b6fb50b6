/* Depthwise convolution of int8 with Helium: 16 channels of a pixel at once. Two products fit into 16 bits; their sums
 * go to 32 bits in four vectors, every fourth channel in each, and b, m and e are in that order.
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e tfl once
 * when in_c == out_c and least_weight > -128 and (most_exponent <= 0 or least_exponent > 32)
 * pack w: O/16! HWI o16
 * pack b: O/16! o16(048c26ae159d37bf)
 * pack m: O/16! o16(048c26ae159d37bf)
 * pack e: O/16! o16(048c26ae159d37bf)
 * scratch 16
 * order pixels 16 */
#include "edgekit/depthwise2d_int.h"

/* The cell of x at tap t of the window, or what is outside of x; all of the window is in x if `inside`. */
EK_INLINE const int8_t *EK_FN_cell(const int8_t *x, const int8_t *border, const int32_t t, const int32_t top,
    const int32_t left, const int inside, const struct EK_STRUCT *p)
{
    const int32_t row = top + t / p->k_w * p->dilation_h, column = left + t % p->k_w * p->dilation_w;
    const int is_in = inside || (row >= 0 && row < p->in_h && column >= 0 && column < p->in_w);
    return is_in ? x + (row * p->in_w + column) * p->in_c : border;
}

/* Channels `first` to first + 15, `count` of them, of one pixel. Where x goes on behind its window, 16 are read. */
EK_INLINE void EK_FN_block(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, const int8_t *border, const int32_t first, const int32_t top,
    const int32_t left, const int32_t count, const int inside, const int goes_on, const struct EK_STRUCT *p)
{
#define CELL(T) EK_FN_cell(x, border, T, top, left, inside, p)
#define TWO(T) ek_mve_two_x16(CELL(T), CELL((T) + 1), w + 16 * (T), &sum0, &sum1, &sum2, &sum3)
#define ONE(T) ek_mve_one_x16(CELL(T), w + 16 * (T), goes_on ? 16 : count, &sum0, &sum1, &sum2, &sum3)
    const int32_t taps = p->k_h * p->k_w;
    int32x4_t sum0 = vldrwq_s32(b + first), sum1 = vldrwq_s32(b + first + 4),
              sum2 = vldrwq_s32(b + first + 8), sum3 = vldrwq_s32(b + first + 12);
    int32_t t = 0;
    w += first * taps;
    x += first;
    if (goes_on && taps == 9) {
        TWO(0);
        TWO(2);
        TWO(4);
        TWO(6);
        t = 8;
    } else if (goes_on)
        for (; t + 1 < taps; t += 2)
            TWO(t);
    for (; t < taps; t++)
        ONE(t);
#undef CELL
#undef TWO
#undef ONE
    sum0 = EK_RULE(x4)(sum0, vldrwq_s32(m + first), EK_RULE(exponents)(e, first));
    sum1 = EK_RULE(x4)(sum1, vldrwq_s32(m + first + 4), EK_RULE(exponents)(e, first + 4));
    int16x8_t even = vdupq_n_s16(0), odd = even;
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
        vstrbq_p_s8(y + first, result, vctp8q((uint32_t)count));
    else
        vstrbq_s8(y + first, result);
}

/* All channels of one pixel. */
EK_INLINE void EK_FN_pixel(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, const int8_t *border, const int32_t top, const int32_t left, const int inside,
    const int goes_on, const struct EK_STRUCT *p)
{
    const int32_t rest = p->in_c % 16;
    int32_t first = 0;
    for (; first < p->in_c - rest; first += 16)
        EK_FN_block(x, w, b, m, e, y, border, first, top, left, 16, inside, 1, p);
    if (rest)
        EK_FN_block(x, w, b, m, e, y, border, first, top, left, rest, inside, goes_on, p);
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    const int32_t height = (p->k_h - 1) * p->dilation_h, width = (p->k_w - 1) * p->dilation_w;
    const int32_t image = p->in_h * p->in_w * p->in_c, over = (p->in_c + 15) / 16 * 16;
    int8_t *border = (int8_t *)scratch;
    vstrbq_s8(border, vdupq_n_s8((int8_t)p->in_zero));
    for (int32_t n = 0; n < p->batch; n++, x += image)
        for (int32_t h = 0; h < p->out_h; h++) {
            const int32_t top = h * p->stride_h - p->pad_top, bottom = top + height;
            for (int32_t v = 0; v < p->out_w; v++, y += p->out_c) {
                const int32_t left = v * p->stride_w - p->pad_left, right = left + width;
                /* Only the last cells of x end before 16 channels do. */
                const int goes_on = p->in_c % 16 == 0
                                    || ((bottom < p->in_h - 1 || right < p->in_w)
                                        && (bottom * p->in_w + right) * p->in_c + over <= image);
                if (goes_on && top >= 0 && bottom < p->in_h && left >= 0 && right < p->in_w)
                    EK_FN_pixel(x, w, b, m, e, y, border, top, left, 1, 1, p);
                else if (goes_on && p->in_c % 16 == 0)
                    EK_FN_pixel(x, w, b, m, e, y, border, top, left, 0, 1, p);
                else
                    EK_FN_pixel(x, w, b, m, e, y, border, top, left, 0, 0, p);
            }
        }
}
