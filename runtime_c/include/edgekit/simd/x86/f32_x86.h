/* What vectors of floats of AVX2 and AVX-512 have in common; their headers define the vectors and EK_MM(name) before this
 * file. */
#ifndef EDGEKIT_F32_X86_H
#define EDGEKIT_F32_X86_H

#include <immintrin.h>

#include "edgekit/loops/weight_kinds.h"

/* From here on compilers know nothing of a pointer: they keep it in a register, and reach what is around it by constant
 * offsets. gcc would compute each address anew, and run out of registers. */
#define EK_VF_HIDE(p) __asm__("" : "+r"(p))

/* Keeps a vector in a register: gcc would read it from memory wherever it is multiplied. */
#define EK_VF_KEEP(v) __asm__("" : "+v"(v))

EK_INLINE ek_vf ek_vf_set(const float x)
{
    return EK_MM(set1_ps)(x);
}

EK_INLINE ek_vf ek_vf_add(const ek_vf a, const ek_vf b)
{
    return EK_MM(add_ps)(a, b);
}

EK_INLINE ek_vf ek_vf_sub(const ek_vf a, const ek_vf b)
{
    return EK_MM(sub_ps)(a, b);
}

EK_INLINE ek_vf ek_vf_mul(const ek_vf a, const ek_vf b)
{
    return EK_MM(mul_ps)(a, b);
}

EK_INLINE ek_vf ek_vf_div(const ek_vf a, const ek_vf b)
{
    return EK_MM(div_ps)(a, b);
}

/* The larger one of each two; b, where one is NaN. */
EK_INLINE ek_vf ek_vf_max(const ek_vf a, const ek_vf b)
{
    return EK_MM(max_ps)(a, b);
}

/* a * b + c, rounded once */
EK_INLINE ek_vf ek_vf_fma(const ek_vf a, const ek_vf b, const ek_vf c)
{
    return EK_MM(fmadd_ps)(a, b, c);
}

/* Where compilers know that there is no upper bound, it takes no register. */
EK_INLINE ek_vf ek_vf_clamp(const ek_vf x, const float lo, const float hi)
{
    const ek_vf y = EK_MM(max_ps)(EK_MM(set1_ps)(lo), x);
    return hi < EK_INF_f32 ? EK_MM(min_ps)(EK_MM(set1_ps)(hi), y) : y;
}

/* A vector of weights from number `at` on, of this kind. */
EK_INLINE ek_vf ek_vf_weights(const void *w, const int32_t at, const int32_t kind)
{
    if (kind == EK_F32_KIND)
        return EK_MM(loadu_ps)((const float *)w + at);
    if (kind == EK_S8_KIND)
        return EK_MM(cvtepi32_ps)(EK_MM(cvtepi8_epi32)(ek_vf_bytes((const int8_t *)w + at)));
    if (kind == EK_BF16_KIND)
        return (ek_vf)EK_MM(slli_epi32)(EK_MM(cvtepu16_epi32)(ek_vf_words((const uint16_t *)w + at)), 16);
    return EK_MM(cvtph_ps)(ek_vf_words((const uint16_t *)w + at));
}

/* A vector of two whose weights of this kind, from number `at` on, are in turns: in bf16 the first ones are lower halves
 * of words, and floats have them as upper halves. In others, one vector is `step` numbers behind the other. */
EK_INLINE ek_vf ek_vf_weights_of_two(
    const void *w, const int32_t at, const int32_t step, const int32_t is_second, const int32_t kind)
{
    if (kind != EK_BF16_KIND)
        return ek_vf_weights(w, at + is_second * step, kind);
    const ek_vf_bits both =
        (ek_vf_bits)EK_MM(loadu_ps)((const float *)(const void *)((const uint16_t *)w + at));
    return is_second ? (ek_vf)(both & EK_MM(set1_epi32)(-65536)) : (ek_vf)EK_MM(slli_epi32)(both, 16);
}

/* Two numbers anywhere, as one of 64 bits. */
typedef double ek_vf_two __attribute__((aligned(4), may_alias));

/* Two numbers, the first in even lanes, the second in odd ones. */
EK_INLINE ek_vf ek_vf_pair(const float *x)
{
    return EK_MM(castpd_ps)(EK_MM(set1_pd)(*(const ek_vf_two *)(const void *)x));
}

/* Packs `columns` columns of b, which are `step` apart, side by side for each of their elements: `width` of them, a
 * multiple of four. Those that are not there are the first one once more. */
EK_INLINE void ek_vf_pack_columns(const float *EK_RESTRICT b, float *EK_RESTRICT w, const int32_t step,
    const int32_t inner, const int32_t columns, const int32_t width)
{
    for (int32_t j = 0; j < width; j += 4, w += 4) {
        const float *column[4];
        int32_t k = 0;
        for (int32_t c = 0; c < 4; c++)
            column[c] = b + (j + c < columns ? j + c : 0) * step;
        for (; k + 4 <= inner; k += 4) {
            __m128 v[4];
            for (int32_t c = 0; c < 4; c++)
                v[c] = _mm_loadu_ps(column[c] + k);
            _MM_TRANSPOSE4_PS(v[0], v[1], v[2], v[3]);
            for (int32_t c = 0; c < 4; c++)
                _mm_storeu_ps(w + (k + c) * width, v[c]);
        }
        for (; k < inner; k++)
            for (int32_t c = 0; c < 4; c++)
                w[k * width + c] = column[c][k];
    }
}

EK_INLINE void ek_vf_fetch(const uint8_t *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T0);
}

#undef EK_MM

#endif
