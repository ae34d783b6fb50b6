/* The vocabulary of elementwise kernels and of pooling, which all instruction sets define: s32_<set>.h. EK_VI(name) and
 * EK_VI_LANES come before this file. */
#ifndef EDGEKIT_S32_X86_H
#define EDGEKIT_S32_X86_H

#include <immintrin.h>
#include <stddef.h>

#include "edgekit/simd/x86/rules_x86.h"

#define EK_VI_SHARED EK_INLINE
#define EK_BELOW_HALF                                                                                        \
    0.49999997f /* what is added to this below 2^23 reaches the next integer from a half on */

typedef EK_VI(ints) ek_vi;

EK_INLINE ek_vi ek_vi_same(const int32_t x)
{
    return EK_VI(same)(x);
}
EK_INLINE ek_vi ek_vi_add(const ek_vi a, const ek_vi b)
{
    return EK_VI(add)(a, b);
}
EK_INLINE ek_vi ek_vi_mul(const ek_vi a, const ek_vi b)
{
    return EK_VI(times)(a, b);
}
/* a >> n */
EK_INLINE ek_vi ek_vi_shifted(const ek_vi a, const int32_t n)
{
    return EK_VI(shifted)(a, n);
}

/* A factor for all lanes. */
EK_INLINE ek_vi ek_s32_factor(const int32_t x)
{
    return EK_VI(same)(x);
}

/* Four vectors of int8 that lie side by side, less their zero point. */
EK_INLINE void ek_vi_load_s8(ek_vi *z, const int8_t *x, const int32_t zero)
{
    EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++)
        z[k] = EK_VI(add)(EK_VI(widened)(x + k * EK_VI_LANES), EK_VI(same)(-zero));
}

/* A vector of int32. */
EK_INLINE ek_vi ek_vi_load(const int32_t *x)
{
    return EK_VI(load)(x);
}

/* clamp(zero + z) of four vectors as int8. */
EK_INLINE void ek_vi_store_s8(
    int8_t *y, const ek_vi *z, const int32_t zero, const int32_t lo, const int32_t hi)
{
    EK_VI(store_all)(y, EK_VI(packed)(z[0], z[1], z[2], z[3], zero, lo, hi));
}

/* The first n of these. */
EK_INLINE void ek_vi_copy_s8(int8_t *y, const int8_t *x, const int32_t n)
{
    (void)__builtin_memcpy(y, x, (size_t)n);
}

/* The rules with one multiplier and exponent for all. */
EK_INLINE ek_vi ek_requantize_e_same(const ek_vi acc, const int32_t m, const int32_t e)
{
    const struct EK_VI(scales) s = EK_VI(scale)(ek_requantize_e_kind, m, e);
    return EK_VI(requantized)(ek_requantize_e_kind, acc, &s);
}
EK_INLINE ek_vi ek_requantize_e_wide_same(const ek_vi acc, const int32_t m, const int32_t e)
{
    const struct EK_VI(scales) s = EK_VI(scale)(ek_requantize_e_wide_kind, m, e);
    return EK_VI(requantized)(ek_requantize_e_wide_kind, acc, &s);
}
EK_INLINE ek_vi ek_requantize_tfl_same(const ek_vi acc, const int32_t m, const int32_t e)
{
    const struct EK_VI(scales) s = EK_VI(scale)(ek_requantize_tfl_kind, m, e);
    return EK_VI(requantized)(ek_requantize_tfl_kind, acc, &s);
}

/* Sixteen sums of at most 256 int8. */
typedef __m256i ek_v16;

EK_INLINE ek_v16 ek_v16_none(void)
{
    return _mm256_setzero_si256();
}
EK_INLINE ek_v16 ek_v16_add_s8(const ek_v16 y, const int8_t *x)
{
    return _mm256_add_epi16(y, _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)x)));
}

#endif
