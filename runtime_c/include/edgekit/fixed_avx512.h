/* The requantization rules of fixed.h for AVX-512: sixteen sums at a time, with a multiplier and an exponent each. Sums
 * have at most 30 bits, their sign apart. */
#ifndef EDGEKIT_FIXED_AVX512_H
#define EDGEKIT_FIXED_AVX512_H

#include <immintrin.h>

#include "edgekit/types.h"

/* Which rule: kernels name it, and what they call is resolved by the compiler. */
EK_INLINE int32_t ek_requantize_e_kind(void)
{
    return 0;
}
EK_INLINE int32_t ek_requantize_e_wide_kind(void)
{
    return 1;
}
EK_INLINE int32_t ek_requantize_once_kind(void)
{
    return 2;
}
EK_INLINE int32_t ek_requantize_tfl_kind(void)
{
    return 3;
}

/* Rule T. */
EK_INLINE __m512i ek_requantize_tfl_x16(const __m512i acc, const __m512i m, const __m512i e)
{
    const __m512i left = _mm512_max_epi32(e, _mm512_setzero_si512()), right = _mm512_sub_epi32(left, e);
    const __m512i half =
        _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_sub_epi32(right, _mm512_set1_epi32(1)));
    const __m512i a = _mm512_sllv_epi32(acc, left), one = _mm512_set1_epi64((int64_t)1 << 30);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(a, m), one);
    const __m512i odd =
        _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(m, 32)), one);
    const __m512i y = _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 31), _mm512_slli_epi64(odd, 1));
    /* -1 for what is negative and shifted: halves go away from zero */
    const __m512i nudged =
        _mm512_mask_add_epi32(y, _mm512_test_epi32_mask(right, right), y, _mm512_srai_epi32(y, 31));
    return _mm512_srav_epi32(_mm512_add_epi32(nudged, half), right);
}

/* One rounding of a product: every other lane, in 64 bits. */
EK_INLINE __m512i ek_rounded_x8(const int32_t kind, const __m512i product, const __m512i e)
{
    const __m512i shift = kind == 2 ? _mm512_sub_epi64(_mm512_set1_epi64(31), e) : e;
    const __m512i half =
        _mm512_sllv_epi64(_mm512_set1_epi64(1), _mm512_sub_epi64(shift, _mm512_set1_epi64(1)));
    const __m512i sign = kind == 2 ? _mm512_srai_epi64(product, 63) : _mm512_setzero_si512();
    const __m512i y = _mm512_srav_epi64(_mm512_add_epi64(_mm512_add_epi64(product, sign), half), shift);
    const __m512i most = _mm512_set1_epi64((int64_t)1 << 30), least = _mm512_set1_epi64(-((int64_t)1 << 30));
    return kind == 0 ? y : _mm512_max_epi64(least, _mm512_min_epi64(most, y));
}

/* Rules E and the one of one rounding, halves away from zero. */
EK_INLINE __m512i ek_requantize_once_x16(
    const int32_t kind, const __m512i acc, const __m512i m, const __m512i e)
{
    const __m512i even =
        ek_rounded_x8(kind, _mm512_mul_epi32(acc, m), _mm512_srai_epi64(_mm512_slli_epi64(e, 32), 32));
    const __m512i odd = ek_rounded_x8(kind,
        _mm512_mul_epi32(_mm512_srli_epi64(acc, 32), _mm512_srli_epi64(m, 32)), _mm512_srai_epi64(e, 32));
    return _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
}

/* What a kernel needs to turn sums into int8. */
struct ek_results_x16 {
    int32_t kind;
    int32_t zero;
    int32_t lo;
    int32_t hi;
};

/* clamp(zero + requantize(acc)) of the outputs in `lanes`; m and e are those of the first of them. */
EK_INLINE __m512i ek_result_x16(const __m512i acc, const int32_t *m, const int8_t *e, const __mmask16 lanes,
    const struct ek_results_x16 *r)
{
    const __m512i multiplier = _mm512_maskz_loadu_epi32(lanes, m);
    const __m512i exponent =
        r->kind < 2 ? _mm512_set1_epi32(e[0]) : _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(lanes, e));
    const __m512i y = r->kind == 3 ? ek_requantize_tfl_x16(acc, multiplier, exponent)
                                   : ek_requantize_once_x16(r->kind, acc, multiplier, exponent);
    return _mm512_min_epi32(_mm512_set1_epi32(r->hi),
        _mm512_max_epi32(_mm512_set1_epi32(r->lo), _mm512_add_epi32(y, _mm512_set1_epi32(r->zero))));
}

#endif
