/* The requantization rules of fixed.h for AVX-512: sixteen sums at a time, with a multiplier and an exponent each. Sums
 * have at most 30 bits, their sign apart. */
#ifndef EDGEKIT_FIXED_AVX512_H
#define EDGEKIT_FIXED_AVX512_H

#include <immintrin.h>

#include "edgekit/types.h"

/* acc + products of four unsigned bytes of a and four signed ones of b, in each lane. Not the intrinsic: gcc 12 stores
 * arrays of its results to memory at every step. */
EK_INLINE __m512i ek_dot_x16(__m512i acc, const __m512i a, const __m512i b)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
    return acc;
}

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

/* What sixteen sums are multiplied by and shifted, as the rules want it. */
struct ek_scales_x16 {
    __m512i m;
    __m512i m_odd; /* of odd lanes, in even ones */
    __m512i shift;
    __m512i last_shift;
    __m512i half; /* of a unit of the last shift */
    __mmask16 away; /* where the last shift rounds halves away from zero */
};

/* The scales of outputs in `lanes`; m and e are those of the first of them. */
EK_INLINE struct ek_scales_x16 ek_scales_x16(
    const int32_t kind, const int32_t *m, const int8_t *e, const __mmask16 lanes)
{
    const __m512i zero = _mm512_setzero_si512(), one = _mm512_set1_epi32(1);
    const __m512i exponent =
        kind < 2 ? _mm512_set1_epi32(e[0]) : _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(lanes, e));
    const __m512i up = _mm512_max_epi32(exponent, zero), down = _mm512_sub_epi32(up, exponent);
    struct ek_scales_x16 s;
    s.m = _mm512_maskz_loadu_epi32(lanes, m);
    s.m_odd = _mm512_srli_epi64(s.m, 32);
    s.shift = exponent;
    s.last_shift = exponent;
    s.half = zero;
    s.away = 0;
    if (kind == 0) {
        s.last_shift = _mm512_sub_epi32(exponent, _mm512_set1_epi32(32));
        s.half = _mm512_sllv_epi64(_mm512_set1_epi64(1), _mm512_set1_epi64(e[0] - 1));
    } else if (kind == 3) {
        s.shift = _mm512_add_epi32(up, one);
        s.last_shift = down;
        s.half = _mm512_sllv_epi32(one, _mm512_sub_epi32(down, one));
        s.away = _mm512_test_epi32_mask(down, down);
    }
    return s;
}

/* Those of rule T with one multiplier and exponent. */
EK_INLINE struct ek_scales_x16 ek_scale_tfl_x16(const int32_t m, const int32_t e)
{
    const __m512i one = _mm512_set1_epi32(1), down = _mm512_set1_epi32(e < 0 ? -e : 0);
    struct ek_scales_x16 s;
    s.m = _mm512_set1_epi32(m);
    s.m_odd = s.m;
    s.shift = _mm512_set1_epi32(e < 0 ? 1 : e + 1);
    s.last_shift = down;
    s.half = _mm512_sllv_epi32(one, _mm512_sub_epi32(down, one));
    s.away = _mm512_test_epi32_mask(down, down);
    return s;
}

/* The upper halves of eight sums of even and eight of odd lanes. */
EK_INLINE __m512i ek_upper_x16(const __m512i even, const __m512i odd)
{
    return _mm512_mask_shuffle_epi32(odd, 0x5555, even, (_MM_PERM_ENUM)0xF5);
}

/* Rule E. */
EK_INLINE __m512i ek_requantize_e_x16(const __m512i acc, const struct ek_scales_x16 *s)
{
    const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(acc, s->m), s->half);
    const __m512i odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(acc, 32), s->m_odd), s->half);
    return _mm512_srav_epi32(ek_upper_x16(even, odd), s->last_shift);
}

/* Rule T: the sum is doubled, so that the product's upper half is what counts. */
EK_INLINE __m512i ek_requantize_tfl_x16(const __m512i acc, const struct ek_scales_x16 *s)
{
    const __m512i a = _mm512_sllv_epi32(acc, s->shift), half = _mm512_set1_epi64((int64_t)1 << 31);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(a, s->m), half);
    const __m512i odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(a, 32), s->m_odd), half);
    const __m512i y = ek_upper_x16(even, odd), rounded = _mm512_add_epi32(y, s->half);
    return _mm512_srav_epi32(
        _mm512_mask_add_epi32(rounded, s->away, rounded, _mm512_srai_epi32(y, 31)), s->last_shift);
}

/* One rounding of a product, as rule E does it or, where `is_away`, halves away from zero; lanes of 64 bits. */
EK_INLINE __m512i ek_rounded_x8(const int32_t is_away, const __m512i product, const __m512i e)
{
    const __m512i shift = is_away ? _mm512_sub_epi64(_mm512_set1_epi64(31), e) : e;
    const __m512i half =
        _mm512_sllv_epi64(_mm512_set1_epi64(1), _mm512_sub_epi64(shift, _mm512_set1_epi64(1)));
    const __m512i sign = is_away ? _mm512_srai_epi64(product, 63) : _mm512_setzero_si512();
    const __m512i y = _mm512_srav_epi64(_mm512_add_epi64(_mm512_add_epi64(product, sign), half), shift);
    const __m512i most = _mm512_set1_epi64((int64_t)1 << 30), least = _mm512_set1_epi64(-((int64_t)1 << 30));
    return _mm512_max_epi64(least, _mm512_min_epi64(most, y));
}

/* Rule E for large ratios, and that of a single rounding. */
EK_INLINE __m512i ek_requantize_once_x16(
    const int32_t is_away, const __m512i acc, const struct ek_scales_x16 *s)
{
    const __m512i even = ek_rounded_x8(
        is_away, _mm512_mul_epi32(acc, s->m), _mm512_srai_epi64(_mm512_slli_epi64(s->shift, 32), 32));
    const __m512i odd = ek_rounded_x8(
        is_away, _mm512_mul_epi32(_mm512_srli_epi64(acc, 32), s->m_odd), _mm512_srai_epi64(s->shift, 32));
    return _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
}

/* The rule of this kind. */
EK_INLINE __m512i ek_requantize_x16(const int32_t kind, const __m512i acc, const struct ek_scales_x16 *s)
{
    return kind == 0   ? ek_requantize_e_x16(acc, s)
           : kind == 3 ? ek_requantize_tfl_x16(acc, s)
                       : ek_requantize_once_x16(kind == 2, acc, s);
}

/* What a kernel needs to turn sums into int8. */
struct ek_results_x16 {
    int32_t kind;
    int32_t zero;
    int32_t lo;
    int32_t hi;
};

/* clamp(zero + y) of four times sixteen results, one behind the other. */
EK_INLINE __m512i ek_packed_x16(
    const __m512i a, const __m512i b, const __m512i c, const __m512i d, const struct ek_results_x16 *r)
{
    const __m512i zero = _mm512_set1_epi16((int16_t)r->zero);
    const __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(a, b), zero);
    const __m512i second = _mm512_adds_epi16(_mm512_packs_epi32(c, d), zero);
    const __m512i mixed = _mm512_max_epi8(_mm512_set1_epi8((char)r->lo),
        _mm512_min_epi8(_mm512_set1_epi8((char)r->hi), _mm512_packs_epi16(first, second)));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, mixed);
}

/* Stores result `k` of four; not all of its sixteen numbers may be wanted. */
EK_INLINE void ek_store_result_x16(int8_t *y, const __m512i packed, const int32_t k, const __mmask16 lanes)
{
    const __m128i z = k == 0   ? _mm512_castsi512_si128(packed)
                      : k == 1 ? _mm512_extracti32x4_epi32(packed, 1)
                      : k == 2 ? _mm512_extracti32x4_epi32(packed, 2)
                               : _mm512_extracti32x4_epi32(packed, 3);
    if (lanes == 0xFFFF)
        _mm_storeu_si128((__m128i *)(void *)y, z);
    else
        _mm_mask_storeu_epi8(y, lanes, z);
}

#endif
