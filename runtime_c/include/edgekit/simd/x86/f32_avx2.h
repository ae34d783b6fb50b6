/* Vectors of floats for AVX2, under the names that those for AVX-512 have: kernels of floats are one text. */
#ifndef EDGEKIT_F32_AVX2_H
#define EDGEKIT_F32_AVX2_H

#include <immintrin.h>

#include "edgekit/loops/weight_kinds.h"

#define EK_VF_LANES 8
/* How many vectors of outputs kernels take at once, and pixels for so many: what registers can hold. */
#define EK_VF_BLOCKS 2
#define EK_VF_PIXELS(blocks) ((blocks) == 1 ? 12 : (blocks) == 2 ? 6 : 4)
/* How many pixels have all of their outputs before the next: as many as there are, so that weights stay in a cache. */
#define EK_VF_TOGETHER 0x7FFFFFFF

/* How many columns products with transposed matrices take at once. */
#define EK_VF_COLUMNS 2

typedef __m256 ek_vf;
typedef __m256i ek_vf_bits;

/* Eight weights of bytes and of 16 bits. */
EK_INLINE __m128i ek_vf_bytes(const int8_t *w)
{
    return _mm_loadl_epi64((const __m128i *)(const void *)w);
}
EK_INLINE __m128i ek_vf_words(const uint16_t *w)
{
    return _mm_loadu_si128((const __m128i *)(const void *)w);
}

#define EK_MM(name) _mm256_##name
#include "edgekit/simd/x86/f32_x86.h"

EK_INLINE __m256i ek_vf_mask(const int32_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* The first `count` of eight numbers, at least one, then zeros. */
EK_INLINE ek_vf ek_vf_load(const float *x, const int32_t count)
{
    return count == 8 ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, ek_vf_mask(count));
}

/* Four numbers, twice. */
EK_INLINE ek_vf ek_vf_four(const float *x)
{
    return _mm256_broadcast_ps((const __m128 *)(const void *)x);
}

/* Four numbers from number `at` on of two rows. */
EK_INLINE ek_vf ek_vf_fours(const float *const *row, const int32_t at)
{
    return _mm256_insertf128_ps(
        _mm256_castps128_ps256(_mm_loadu_ps(row[0] + at)), _mm_loadu_ps(row[1] + at), 1);
}

/* Numbers from number `at` of a row of `length` on, which is at x, and zeros for those outside of the row. */
EK_INLINE ek_vf ek_vf_load_inside(const float *x, const int32_t at, const int32_t length)
{
    typedef uint32_t unsigned_bits __attribute__((vector_size(32)));
    const unsigned_bits place = {0, 1, 2, 3, 4, 5, 6, 7};
    return _mm256_maskload_ps(x, (__m256i)(place + (uint32_t)at < (uint32_t)length));
}

/* The first `count` of four numbers. Compilers that know how many there are need no mask, which takes long to store by. */
EK_INLINE void ek_vf_store_four(float *y, const int32_t count, const __m128 v)
{
    int32_t lanes = count;
    if (__builtin_constant_p(count) && count == 4)
        _mm_storeu_ps(y, v);
    else if (__builtin_constant_p(count) && count == 1)
        _mm_store_ss(y, v);
    else if (__builtin_constant_p(count) && (count == 2 || count == 3)) {
        _mm_storel_pi((__m64 *)(void *)y, v);
        if (count == 3)
            _mm_store_ss(y + 2, _mm_movehl_ps(v, v));
    } else {
        __asm__ volatile("" : "+r"(lanes));
        _mm_maskstore_ps(y, _mm256_castsi256_si128(ek_vf_mask(lanes)), v);
    }
}

/* The mask is made anew: gcc would keep one in a register that sums need. */
EK_INLINE void ek_vf_store(float *y, const int32_t count, const ek_vf v)
{
    int32_t lanes = count;
    if (count == 8)
        _mm256_storeu_ps(y, v);
    else if (__builtin_constant_p(count) && count <= 4)
        ek_vf_store_four(y, count, _mm256_castps256_ps128(v));
    else {
        __asm__ volatile("" : "+r"(lanes));
        _mm256_maskstore_ps(y, ek_vf_mask(lanes), v);
    }
}

/* The first `count` numbers of half a vector: the upper one, or the lower. */
EK_INLINE void ek_vf_store_half(float *y, const int32_t count, const ek_vf v, const int32_t is_upper)
{
    ek_vf_store_four(y, count, is_upper ? _mm256_extractf128_ps(v, 1) : _mm256_castps256_ps128(v));
}

/* At most half a vector of numbers, in both halves. */
EK_INLINE ek_vf ek_vf_load_twice(const float *x, const int32_t count)
{
    const ek_vf v = ek_vf_load(x, count);
    return _mm256_permute2f128_ps(v, v, 0);
}

EK_INLINE float ek_vf_largest(const ek_vf v)
{
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/* The sums of the elements of each, of `count` vectors that exist of two. */
EK_INLINE void ek_vf_store_totals(float *y, const int32_t count, const ek_vf *v)
{
    const __m256 pairs = _mm256_hadd_ps(v[0], v[1]), fours = _mm256_hadd_ps(pairs, pairs);
    const __m128 both = _mm_add_ps(_mm256_castps256_ps128(fours), _mm256_extractf128_ps(fours, 1));
    _mm_store_ss(y, both);
    if (count > 1)
        _mm_store_ss(y + 1, _mm_movehdup_ps(both));
}

/* A number in even lanes or odd ones, and zeros. */
EK_INLINE ek_vf ek_vf_even(const float x)
{
    return _mm256_blend_ps(_mm256_setzero_ps(), _mm256_set1_ps(x), 0x55);
}

EK_INLINE ek_vf ek_vf_odd(const float x)
{
    return _mm256_blend_ps(_mm256_setzero_ps(), _mm256_set1_ps(x), 0xAA);
}

/* Sums of two neighbours: those of a in the lower half, those of b in the upper one. */
EK_INLINE ek_vf ek_vf_neighbours(const ek_vf a, const ek_vf b)
{
    return (ek_vf)_mm256_permute4x64_pd((__m256d)_mm256_hadd_ps(a, b), 0xD8);
}

#endif
