/* Vectors of floats for AVX-512, under the names that f32_avx2.h has for AVX2: kernels of floats are one text. */
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

/* From here on compilers know nothing of a pointer: they keep it in a register, and reach what is around it by constant
 * offsets. gcc would compute each address anew, and run out of registers. */
#define EK_VF_HIDE(p) __asm__("" : "+r"(p))

/* Keeps a vector in a register: gcc would read it from memory wherever it is multiplied. */
#define EK_VF_KEEP(v) __asm__("" : "+v"(v))

typedef __m512 ek_vf;

EK_INLINE ek_vf ek_vf_set(const float x)
{
    return _mm512_set1_ps(x);
}

EK_INLINE ek_vf ek_vf_add(const ek_vf a, const ek_vf b)
{
    return _mm512_add_ps(a, b);
}

EK_INLINE ek_vf ek_vf_sub(const ek_vf a, const ek_vf b)
{
    return _mm512_sub_ps(a, b);
}

EK_INLINE ek_vf ek_vf_mul(const ek_vf a, const ek_vf b)
{
    return _mm512_mul_ps(a, b);
}

/* a * b + c, rounded once */
EK_INLINE ek_vf ek_vf_fma(const ek_vf a, const ek_vf b, const ek_vf c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* Where compilers know that there is no upper bound, it takes no register. */
EK_INLINE ek_vf ek_vf_clamp(const ek_vf x, const float lo, const float hi)
{
    const ek_vf y = _mm512_max_ps(_mm512_set1_ps(lo), x);
    return hi < EK_INF_f32 ? _mm512_min_ps(_mm512_set1_ps(hi), y) : y;
}

EK_INLINE __mmask16 ek_vf_mask(const int32_t count)
{
    return (__mmask16)(0xFFFFu >> (16 - count));
}

/* The first `count` of sixteen numbers, at least one, then zeros. */
EK_INLINE ek_vf ek_vf_load(const float *x, const int32_t count)
{
    return count == 16 ? _mm512_loadu_ps(x) : _mm512_maskz_loadu_ps(ek_vf_mask(count), x);
}

EK_INLINE void ek_vf_store(float *y, const int32_t count, const ek_vf v)
{
    if (count == 16)
        _mm512_storeu_ps(y, v);
    else
        _mm512_mask_storeu_ps(y, ek_vf_mask(count), v);
}

/* Sixteen weights from number `at` on, of this kind. */
EK_INLINE ek_vf ek_vf_weights(const void *w, const int32_t at, const int32_t kind)
{
    if (kind == EK_F32_KIND)
        return _mm512_loadu_ps((const float *)w + at);
    if (kind == EK_S8_KIND)
        return _mm512_cvtepi32_ps(
            _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)((const int8_t *)w + at))));
    const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)((const uint16_t *)w + at));
    if (kind == EK_BF16_KIND)
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
    return _mm512_cvtph_ps(v);
}

/* A vector of two whose weights of this kind, from number `at` on, are in turns: in bf16 the first ones are lower halves
 * of words, and floats have them as upper halves. In others, one vector is `step` numbers behind the other. */
EK_INLINE ek_vf ek_vf_weights_of_two(
    const void *w, const int32_t at, const int32_t step, const int32_t is_second, const int32_t kind)
{
    if (kind != EK_BF16_KIND)
        return ek_vf_weights(w, at + is_second * step, kind);
    const __m512i both = _mm512_loadu_si512((const __m512i *)(const void *)((const uint16_t *)w + at));
    return _mm512_castsi512_ps(
        is_second ? _mm512_and_si512(both, _mm512_set1_epi32(-65536)) : _mm512_slli_epi32(both, 16));
}

/* Two numbers anywhere, as one of 64 bits. */
typedef double ek_vf_two __attribute__((aligned(4), may_alias));

/* Two numbers, the first in even lanes, the second in odd ones. */
EK_INLINE ek_vf ek_vf_pair(const float *x)
{
    return _mm512_castpd_ps(_mm512_set1_pd(*(const ek_vf_two *)(const void *)x));
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

/* Sums of two neighbours, in the lower half. */
EK_INLINE ek_vf ek_vf_halves(const ek_vf x)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14);
    return _mm512_permutexvar_ps(even, _mm512_add_ps(x, _mm512_permute_ps(x, 0xB1)));
}

EK_INLINE void ek_vf_fetch(const uint8_t *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T0);
}

#endif
