/* Depthwise convolution of int8: see depthwise2d_int.h. For each row of results, four rows of x are interleaved, 128
 * more, as the left factors of AVX-512 VNNI are unsigned; so a dot product has four taps of a column.
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once line line_away
 * when in_c == out_c and sum_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * pack w: O/16! H/4! W I o16 h4
 * pack b: O/16! o16
 * pack m: O/16! o16
 * pack e: O/16! o16
 * fold b: -128 w
 * scratch ((k_h + 3) // 4) * ((out_w - 1) * stride_w + (k_w - 1) * dilation_w + 1) * ((in_c + 15) // 16) * 64 */
#include "edgekit/depthwise2d_int.h"
#include "edgekit/rules_x86.h"

/* Four rows of x from `row` on, `columns` cells from the left border on. */
EK_INLINE void EK_FN_interleave(
    const EK_X *x, uint8_t *y, const int32_t row, const int32_t columns, const struct EK_STRUCT *p)
{
    const __m128i border = _mm_set1_epi8((char)p->in_zero), flip = _mm_set1_epi8(-128);
    for (int32_t v = 0; v < columns; v++) {
        const int32_t column = v - p->pad_left, is_inside = column >= 0 && column < p->in_w;
        for (int32_t o = 0; o < p->in_c; o += 16, y += 64) {
            const int32_t rest = p->in_c - o;
            const __mmask16 lanes = (__mmask16)(rest < 16 ? (1 << rest) - 1 : 0xFFFF);
            __m128i t[4];
#pragma GCC unroll 4
            for (int32_t k = 0; k < 4; k++) {
                const int32_t at = row + k * p->dilation_h;
                t[k] = border;
                if (is_inside && at >= 0 && at < p->in_h)
                    t[k] = _mm_maskz_loadu_epi8(lanes, x + (at * p->in_w + column) * p->in_c + o);
                t[k] = _mm_xor_si128(t[k], flip);
            }
            const __m128i a = _mm_unpacklo_epi8(t[0], t[1]), b = _mm_unpackhi_epi8(t[0], t[1]);
            const __m128i c = _mm_unpacklo_epi8(t[2], t[3]), d = _mm_unpackhi_epi8(t[2], t[3]);
            _mm_storeu_si128((__m128i *)(void *)y, _mm_unpacklo_epi16(a, c));
            _mm_storeu_si128((__m128i *)(void *)(y + 16), _mm_unpackhi_epi16(a, c));
            _mm_storeu_si128((__m128i *)(void *)(y + 32), _mm_unpacklo_epi16(b, d));
            _mm_storeu_si128((__m128i *)(void *)(y + 48), _mm_unpackhi_epi16(b, d));
        }
    }
}

/* `pixels` of a row, sixteen channels of them, those in `lanes`. */
EK_INLINE void EK_FN_pixels(const uint8_t *x, const EK_W *w, const EK_S *b, const int32_t *m, const int8_t *e,
    EK_Y *y, const int32_t first, const int32_t columns, const int32_t pixels, const struct EK_STRUCT *p)
{
    const int32_t cell = (p->in_c + 15) / 16 * 64;
    const int32_t rest = p->out_c - first < 16 ? p->out_c - first : 16;
    __m512i sum[8];
    const __m512i bias = _mm512_loadu_si512(b + first);
#pragma GCC unroll 8
    for (int32_t q = 0; q < pixels; q++)
        sum[q] = bias;
    for (int32_t i = 0; i < (p->k_h + 3) / 4; i++)
        for (int32_t j = 0; j < p->k_w; j++) {
            const __m512i v = _mm512_loadu_si512(w + (i * p->k_w + j) * 64);
            const uint8_t *from = x + (i * columns + j * p->dilation_w) * cell;
#pragma GCC unroll 8
            for (int32_t q = 0; q < pixels; q++)
                sum[q] = ek_x16_dot(sum[q], _mm512_loadu_si512(from + q * p->stride_w * cell), v);
        }
    const struct ek_x16_scales scales = ek_x16_scales(EK_RULE(kind)(), m, e, first);
#pragma GCC unroll 2
    for (int32_t at = 0; at < pixels; at += 4) {
        __m512i z[4];
#pragma GCC unroll 4
        for (int32_t k = 0; k < 4; k++)
            z[k] = at + k < pixels ? ek_x16_requantized(EK_RULE(kind)(), sum[at + k], &scales) : z[0];
        const __m512i packed = ek_x16_packed(z[0], z[1], z[2], z[3], p->zero, p->lo, p->hi);
#pragma GCC unroll 4
        for (int32_t k = 0; k < 4; k++)
            if (at + k < pixels)
                ek_x16_store(y + (at + k) * p->out_c, packed, k, rest);
    }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t columns = (p->out_w - 1) * p->stride_w + (p->k_w - 1) * p->dilation_w + 1;
    const int32_t cell = (p->in_c + 15) / 16 * 64, quads = (p->k_h + 3) / 4;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++, y += p->out_w * p->out_c) {
            for (int32_t i = 0; i < quads; i++)
                EK_FN_interleave(x, scratch + i * columns * cell,
                    h * p->stride_h - p->pad_top + 4 * i * p->dilation_h, columns, p);
            for (int32_t o = 0; o < p->in_c; o += 16) {
#define EK_PIXELS(n)                                                                                         \
    for (int32_t k = 0; k < p->out_w; k += (n)) {                                                            \
        const int32_t v = k + (n) <= p->out_w ? k : p->out_w - (n);                                          \
        EK_FN_pixels(scratch + v * p->stride_w * cell + o * 4, w + o * quads * p->k_w * 4, b, m, e,          \
            y + v * p->out_c + o, o, columns, (n), p);                                                       \
    }
                if (p->out_w >= 8)
                    EK_PIXELS(8)
                else if (p->out_w >= 4)
                    EK_PIXELS(4)
                else
                    EK_PIXELS(1)
#undef EK_PIXELS
            }
        }
}
