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

/* From here on compilers know nothing of a pointer: they keep it in a register, and reach what is around it by constant
 * offsets. gcc would compute each address anew, and run out of registers. */
#define EK_VF_HIDE(p) __asm__("" : "+r"(p))

/* Keeps a vector in a register: gcc would read it from memory wherever it is multiplied. */
#define EK_VF_KEEP(v) __asm__("" : "+x"(v))

typedef __m256 ek_vf;

EK_INLINE ek_vf ek_vf_set(const float x)
{
    return _mm256_set1_ps(x);
}

EK_INLINE ek_vf ek_vf_add(const ek_vf a, const ek_vf b)
{
    return _mm256_add_ps(a, b);
}

EK_INLINE ek_vf ek_vf_sub(const ek_vf a, const ek_vf b)
{
    return _mm256_sub_ps(a, b);
}

EK_INLINE ek_vf ek_vf_mul(const ek_vf a, const ek_vf b)
{
    return _mm256_mul_ps(a, b);
}

/* a * b + c, rounded once */
EK_INLINE ek_vf ek_vf_fma(const ek_vf a, const ek_vf b, const ek_vf c)
{
    return _mm256_fmadd_ps(a, b, c);
}

/* Where compilers know that there is no upper bound, it takes no register. */
EK_INLINE ek_vf ek_vf_clamp(const ek_vf x, const float lo, const float hi)
{
    const ek_vf y = _mm256_max_ps(_mm256_set1_ps(lo), x);
    return hi < EK_INF_f32 ? _mm256_min_ps(_mm256_set1_ps(hi), y) : y;
}

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

/* Eight weights from number `at` on, of this kind. */
EK_INLINE ek_vf ek_vf_weights(const void *w, const int32_t at, const int32_t kind)
{
    if (kind == EK_F32_KIND)
        return _mm256_loadu_ps((const float *)w + at);
    if (kind == EK_S8_KIND)
        return _mm256_cvtepi32_ps(
            _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)((const int8_t *)w + at))));
    const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)((const uint16_t *)w + at));
    if (kind == EK_BF16_KIND)
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
    return _mm256_cvtph_ps(v);
}

/* A vector of two whose weights of this kind, from number `at` on, are in turns: in bf16 the first ones are lower halves
 * of words, and floats have them as upper halves. In others, one vector is `step` numbers behind the other. */
EK_INLINE ek_vf ek_vf_weights_of_two(
    const void *w, const int32_t at, const int32_t step, const int32_t is_second, const int32_t kind)
{
    if (kind != EK_BF16_KIND)
        return ek_vf_weights(w, at + is_second * step, kind);
    const __m256i both = _mm256_loadu_si256((const __m256i *)(const void *)((const uint16_t *)w + at));
    return _mm256_castsi256_ps(
        is_second ? _mm256_and_si256(both, _mm256_set1_epi32(-65536)) : _mm256_slli_epi32(both, 16));
}

/* Two numbers anywhere, as one of 64 bits. */
typedef double ek_vf_two __attribute__((aligned(4), may_alias));

/* Two numbers, the first in even lanes, the second in odd ones. */
EK_INLINE ek_vf ek_vf_pair(const float *x)
{
    return _mm256_castpd_ps(_mm256_set1_pd(*(const ek_vf_two *)(const void *)x));
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

EK_INLINE void ek_vf_fetch(const uint8_t *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T0);
}

#endif
