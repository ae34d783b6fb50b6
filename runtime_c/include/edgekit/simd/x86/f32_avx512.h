/* Vectors of floats for AVX-512. */
#ifndef EDGEKIT_F32_AVX512_H
#define EDGEKIT_F32_AVX512_H

#include <immintrin.h>

#include "edgekit/loops/weight_kinds.h"

#define EK_VF_LANES 16
/* How many vectors of outputs kernels take at once, and pixels for so many: what registers can hold. */
#define EK_VF_BLOCKS 4
#define EK_VF_PIXELS(blocks) ((blocks) == 1 ? 16 : (blocks) == 2 ? 12 : (blocks) == 3 ? 8 : 6)
/* How many pixels have all of their outputs before the next: as many as there are, so that weights stay in a cache. */
#define EK_VF_TOGETHER 0x7FFFFFFF

/* How many columns products with transposed matrices take at once. */
#define EK_VF_COLUMNS 4

typedef __m512 ek_vf;
typedef __m512i ek_vf_bits;

/* Sixteen weights of bytes and of 16 bits. */
EK_INLINE __m128i ek_vf_bytes(const int8_t *w)
{
    return _mm_loadu_si128((const __m128i *)(const void *)w);
}
EK_INLINE __m256i ek_vf_words(const uint16_t *w)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)w);
}

#define EK_MM(name) _mm512_##name
#include "edgekit/simd/x86/f32_x86.h"

EK_INLINE __mmask16 ek_vf_mask(const int32_t count)
{
    return (__mmask16)(0xFFFFu >> (16 - count));
}

/* The first `count` of sixteen numbers, at least one, then zeros. */
EK_INLINE ek_vf ek_vf_load(const float *x, const int32_t count)
{
    return count == 16 ? _mm512_loadu_ps(x) : _mm512_maskz_loadu_ps(ek_vf_mask(count), x);
}

/* Four numbers, four times. */
EK_INLINE ek_vf ek_vf_four(const float *x)
{
    return _mm512_broadcast_f32x4(_mm_loadu_ps(x));
}

/* Four numbers from number `at` on of four rows. */
EK_INLINE ek_vf ek_vf_fours(const float *const *row, const int32_t at)
{
    const __m256 low =
        _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(row[0] + at)), _mm_loadu_ps(row[1] + at), 1);
    const __m256 high =
        _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(row[2] + at)), _mm_loadu_ps(row[3] + at), 1);
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

EK_INLINE void ek_vf_store(float *y, const int32_t count, const ek_vf v)
{
    if (count == 16)
        _mm512_storeu_ps(y, v);
    else
        _mm512_mask_storeu_ps(y, ek_vf_mask(count), v);
}

/* Numbers from number `at` of a row of `length` on, which is at x, and zeros for those outside of the row. */
EK_INLINE ek_vf ek_vf_load_inside(const float *x, const int32_t at, const int32_t length)
{
    const __m512i places = _mm512_add_epi32(
        _mm512_set1_epi32(at), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    return _mm512_maskz_loadu_ps(_mm512_cmplt_epu32_mask(places, _mm512_set1_epi32(length)), x);
}

/* The first `count` numbers of half a vector: the upper one, or the lower. */
EK_INLINE void ek_vf_store_half(float *y, const int32_t count, const ek_vf v, const int32_t is_upper)
{
    const __m256 half = is_upper ? _mm512_extractf32x8_ps(v, 1) : _mm512_castps512_ps256(v);
    _mm256_mask_storeu_ps(y, (__mmask8)ek_vf_mask(count), half);
}

/* At most half a vector of numbers, in both halves. */
EK_INLINE ek_vf ek_vf_load_twice(const float *x, const int32_t count)
{
    const ek_vf v = ek_vf_load(x, count);
    return _mm512_shuffle_f32x4(v, v, 0x44);
}

/* The sums of the elements of each, of `count` vectors that exist of four. */
EK_INLINE void ek_vf_store_totals(float *y, const int32_t count, const ek_vf *v)
{
    EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++)
        if (k < count)
            y[k] = _mm512_reduce_add_ps(v[k]);
}

EK_INLINE float ek_vf_largest(const ek_vf v)
{
    return _mm512_reduce_max_ps(v);
}

/* A number in even lanes or odd ones, and zeros. */
EK_INLINE ek_vf ek_vf_even(const float x)
{
    return _mm512_maskz_broadcastss_ps(0x5555, _mm_set_ss(x));
}

EK_INLINE ek_vf ek_vf_odd(const float x)
{
    return _mm512_maskz_broadcastss_ps(0xAAAA, _mm_set_ss(x));
}

/* Sums of two neighbours: those of a in the lower half, those of b in the upper one. */
EK_INLINE ek_vf ek_vf_neighbours(const ek_vf a, const ek_vf b)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_or_si512(even, _mm512_set1_epi32(1));
    return _mm512_add_ps(_mm512_permutex2var_ps(a, even, b), _mm512_permutex2var_ps(a, odd, b));
}

#endif
