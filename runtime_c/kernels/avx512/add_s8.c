/* int8 sum or difference of rows: see add_s8.h.
 * when sa[5] == 1 and sb[5] == 1 and a_exponent <= 0 and b_exponent <= 0 and exponent <= 0 */
#include "edgekit/add_s8.h"

/* Sixteen numbers of an operand, on the common scale. */
EK_INLINE __m512i EK_FN_wide(const __m128i x, const int32_t zero, const struct ek_scales_x16 *s)
{
    const __m512i centred = _mm512_sub_epi32(_mm512_cvtepi8_epi32(x), _mm512_set1_epi32(zero));
    return ek_requantize_tfl_x16(_mm512_slli_epi32(centred, 20), s);
}

/* One row of `size` elements. */
EK_INLINE void EK_FN_row(
    const int8_t *a, const int8_t *b, int8_t *y, const int32_t size, const struct EK_STRUCT *p)
{
    const struct ek_scales_x16 s = ek_scale_tfl_x16(p->a_multiplier, p->a_exponent);
    const struct ek_scales_x16 t = ek_scale_tfl_x16(p->b_multiplier, p->b_exponent);
    const struct ek_scales_x16 r = ek_scale_tfl_x16(p->multiplier, p->exponent);
    for (int32_t i = 0; i < size; i += 16) {
        const int32_t rest = size - i;
        const __mmask16 lanes = (__mmask16)(rest < 16 ? (1 << rest) - 1 : 0xFFFF);
        const __m512i u = EK_FN_wide(_mm_maskz_loadu_epi8(lanes, a + i), p->a_zero, &s);
        const __m512i v = EK_FN_wide(_mm_maskz_loadu_epi8(lanes, b + i), p->b_zero, &t);
        const __m512i sum = p->sign < 0 ? _mm512_sub_epi32(u, v) : _mm512_add_epi32(u, v);
        const __m512i z = _mm512_add_epi32(ek_requantize_tfl_x16(sum, &r), _mm512_set1_epi32(p->zero));
        const __m512i low = _mm512_max_epi32(z, _mm512_set1_epi32(p->lo));
        _mm_mask_storeu_epi8(
            y + i, lanes, _mm512_cvtepi32_epi8(_mm512_min_epi32(low, _mm512_set1_epi32(p->hi))));
    }
}

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    for (int32_t i0 = 0; i0 < p->n[0]; i0++)
        for (int32_t i1 = 0; i1 < p->n[1]; i1++)
            for (int32_t i2 = 0; i2 < p->n[2]; i2++)
                for (int32_t i3 = 0; i3 < p->n[3]; i3++)
                    for (int32_t i4 = 0; i4 < p->n[4]; i4++, y += p->n[5])
                        EK_FN_row(a + p->a0 + i0 * p->sa[0] + i1 * p->sa[1] + i2 * p->sa[2] + i3 * p->sa[3]
                                      + i4 * p->sa[4],
                            b + p->b0 + i0 * p->sb[0] + i1 * p->sb[1] + i2 * p->sb[2] + i3 * p->sb[3]
                                + i4 * p->sb[4],
                            y, p->n[5], p);
}
