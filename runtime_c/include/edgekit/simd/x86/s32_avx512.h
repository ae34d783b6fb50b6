/* Vectors of int32 for AVX-512: see s32_x86.h. */
#ifndef EDGEKIT_S32_AVX512_H
#define EDGEKIT_S32_AVX512_H

#include "edgekit/simd/x86/i32x16_avx512.h"

#define EK_VI(name) ek_x16_##name
#define EK_VI_LANES 16
#include "edgekit/simd/x86/s32_x86.h"

/* A vector of int16. */
EK_INLINE ek_vi ek_vi_load_s16(const int16_t *x)
{
    return _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)x));
}

/* `below` in the lanes where a is less than 0, else `other`. */
EK_INLINE ek_vi ek_vi_by_sign(const ek_vi a, const ek_vi below, const ek_vi other)
{
    return _mm512_mask_blend_epi32(_mm512_cmplt_epi32_mask(a, _mm512_setzero_si512()), other, below);
}

/* The sum of its numbers. */
EK_INLINE int32_t ek_vi_total(const ek_vi x)
{
    return _mm512_reduce_add_epi32(x);
}

/* clamp(zero + z) of sixteen numbers as int8. */
EK_INLINE void ek_vi_store16_s8(
    int8_t *y, const ek_vi *z, const int32_t zero, const int32_t lo, const int32_t hi)
{
    ek_x16_store(y, ek_x16_packed(z[0], z[0], z[0], z[0], zero, lo, hi), 0, 16);
}

EK_INLINE void ek_vi_add_v16(ek_vi *sum, const ek_v16 x)
{
    sum[0] = _mm512_add_epi32(sum[0], _mm512_cvtepi16_epi32(x));
}

/* The whole part of (x + half) * factor, half having the sign of x. */
EK_INLINE ek_vi ek_vi_scaled(const ek_vi x, const float half, const float factor)
{
    const __m512i sign = _mm512_set1_epi32(INT32_MIN), of_half = _mm512_castps_si512(_mm512_set1_ps(half));
    const __m512 v = _mm512_cvtepi32_ps(x);
    const __m512i signed_half = _mm512_or_si512(of_half, _mm512_and_si512(sign, _mm512_castps_si512(v)));
    return _mm512_cvttps_epi32(
        _mm512_mul_ps(_mm512_add_ps(v, _mm512_castsi512_ps(signed_half)), _mm512_set1_ps(factor)));
}

/* x / scale of sixteen reals, between -512 and 512. Of what is no number: `other`. */
EK_INLINE __m512 ek_vi_quotients(const float *x, const float scale, const float other)
{
    const __m512 v = _mm512_div_ps(_mm512_loadu_ps(x), _mm512_set1_ps(scale));
    const __mmask16 numbers = _mm512_cmp_ps_mask(v, v, _CMP_ORD_Q);
    const __m512 number = _mm512_mask_blend_ps(numbers, _mm512_set1_ps(other), v);
    return _mm512_min_ps(_mm512_max_ps(number, _mm512_set1_ps(-512)), _mm512_set1_ps(512));
}

/* These as the nearest integers, halves to the even one or away from zero. */
EK_INLINE ek_vi ek_even_vi(const float *x, const float scale, const float other)
{
    return _mm512_cvtps_epi32(ek_vi_quotients(x, scale, other));
}
EK_INLINE ek_vi ek_away_vi(const float *x, const float scale, const float other)
{
    const __m512 v = ek_vi_quotients(x, scale, other);
    const __m512i sign = _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(INT32_MIN));
    const __m512i half = _mm512_or_si512(sign, _mm512_castps_si512(_mm512_set1_ps(EK_BELOW_HALF)));
    return _mm512_cvttps_epi32(_mm512_add_ps(v, _mm512_castsi512_ps(half)));
}

#endif
