/* Vectors of int32 for AVX2: see s32_x86.h. */
#ifndef EDGEKIT_S32_AVX2_H
#define EDGEKIT_S32_AVX2_H

#include "edgekit/simd/x86/i32x8_avx2.h"

#define EK_VI(name) ek_x8_##name
#define EK_VI_LANES 8
#include "edgekit/simd/x86/s32_x86.h"

/* A vector of int16. */
EK_INLINE ek_vi ek_vi_load_s16(const int16_t *x)
{
    return _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)x));
}

/* `below` in the lanes where a is less than 0, else `other`. */
EK_INLINE ek_vi ek_vi_by_sign(const ek_vi a, const ek_vi below, const ek_vi other)
{
    return _mm256_castps_si256(
        _mm256_blendv_ps(_mm256_castsi256_ps(other), _mm256_castsi256_ps(below), _mm256_castsi256_ps(a)));
}

/* The sum of its numbers. */
EK_INLINE int32_t ek_vi_total(const ek_vi x)
{
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    const __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
    return _mm_cvtsi128_si32(two) + _mm_extract_epi32(two, 1);
}

/* clamp(zero + z) of sixteen numbers as int8. */
EK_INLINE void ek_vi_store16_s8(
    int8_t *y, const ek_vi *z, const int32_t zero, const int32_t lo, const int32_t hi)
{
    ek_x8_store_half(y, ek_x8_packed(z[0], z[1], z[0], z[1], zero, lo, hi), 0);
}

EK_INLINE void ek_vi_add_v16(ek_vi *sum, const ek_v16 x)
{
    sum[0] = _mm256_add_epi32(sum[0], _mm256_cvtepi16_epi32(_mm256_castsi256_si128(x)));
    sum[1] = _mm256_add_epi32(sum[1], _mm256_cvtepi16_epi32(_mm256_extracti128_si256(x, 1)));
}

/* The whole part of (x + half) * factor, half having the sign of x. */
EK_INLINE ek_vi ek_vi_scaled(const ek_vi x, const float half, const float factor)
{
    const __m256 v = _mm256_cvtepi32_ps(x), sign = _mm256_and_ps(v, _mm256_set1_ps(-0.0f));
    const __m256 sum = _mm256_add_ps(v, _mm256_or_ps(sign, _mm256_set1_ps(half)));
    return _mm256_cvttps_epi32(_mm256_mul_ps(sum, _mm256_set1_ps(factor)));
}

/* x / scale of eight reals, between -512 and 512. Of what is no number: `other`. */
EK_INLINE __m256 ek_vi_quotients(const float *x, const float scale, const float other)
{
    const __m256 v = _mm256_div_ps(_mm256_loadu_ps(x), _mm256_set1_ps(scale));
    const __m256 number = _mm256_blendv_ps(_mm256_set1_ps(other), v, _mm256_cmp_ps(v, v, _CMP_ORD_Q));
    return _mm256_min_ps(_mm256_max_ps(number, _mm256_set1_ps(-512)), _mm256_set1_ps(512));
}

/* These as the nearest integers, halves to the even one or away from zero. */
EK_INLINE ek_vi ek_even_vi(const float *x, const float scale, const float other)
{
    return _mm256_cvtps_epi32(ek_vi_quotients(x, scale, other));
}
EK_INLINE ek_vi ek_away_vi(const float *x, const float scale, const float other)
{
    const __m256 v = ek_vi_quotients(x, scale, other), sign = _mm256_and_ps(v, _mm256_set1_ps(-0.0f));
    const __m256 half = _mm256_or_ps(sign, _mm256_set1_ps(EK_BELOW_HALF));
    return _mm256_cvttps_epi32(_mm256_add_ps(v, half));
}

#endif
