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

/* The mask is made anew: gcc would keep one in a register that sums need. */
EK_INLINE void ek_vf_store(float *y, const int32_t count, const ek_vf v)
{
    int32_t lanes = count;
    if (count == 8)
        _mm256_storeu_ps(y, v);
    else {
        __asm__ volatile("" : "+r"(lanes));
        _mm256_maskstore_ps(y, ek_vf_mask(lanes), v);
    }
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

/* Sums of two neighbours, in the lower half. */
EK_INLINE ek_vf ek_vf_halves(const ek_vf x)
{
    const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    return _mm256_permutevar8x32_ps(_mm256_add_ps(x, _mm256_permute_ps(x, 0xB1)), even);
}

#endif
