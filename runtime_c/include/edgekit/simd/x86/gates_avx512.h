/* Gates of recurrent layers of integers with AVX-512, sixteen numbers at a time: see gates.h. */
#ifndef EDGEKIT_GATES_AVX512_H
#define EDGEKIT_GATES_AVX512_H

#include "edgekit/loops/gates.h"
#include "edgekit/simd/x86/i32x16_avx512.h"

#define EK_X16_ROWS 64

/* The state as products want it, copied to `room`. */
EK_INLINE const int8_t *ek_x16_read(const int8_t *h, int16_t *room, const int32_t size)
{
    ek_x16_copy(h, (uint8_t *)room, size);
    return (const int8_t *)room;
}

EK_INLINE __m512i ek_x16_magnitude(const __m512i a)
{
    return _mm512_abs_epi32(a);
}
EK_INLINE __m512i ek_x16_signed(const __m512i y, const __m512i x)
{
    return _mm512_mask_sub_epi32(y, _mm512_movepi32_mask(x), _mm512_setzero_si512(), y);
}
/* Words of a table at any of its numbers. Not the intrinsic: Bochs 2.7 knows the first sixteen registers only for these
 * places. */
EK_INLINE __m512i ek_x16_words(const int16_t *table, const __m512i places)
{
    __m512i words = _mm512_setzero_si512();
    __mmask16 all = 0xFFFF;
    __asm__("vpgatherdd (%2, %3, 2), %0%{%1%}"
        : "+&v"(words), "+&Yk"(all)
        : "r"(table), "x"(places), "m"(*(const int16_t (*)[257])table));
    return words;
}
/* Both numbers of the table at once, and what each counts. */
EK_INLINE __m512i ek_x16_between(const int16_t *table, const __m512i a, const int32_t bits)
{
    const __m512i part = _mm512_and_si512(a, _mm512_set1_epi32((1 << bits) - 1));
    const __m512i left = _mm512_sub_epi32(_mm512_set1_epi32(1 << bits), part);
    const __m512i both = ek_x16_words(table, ek_x16_shifted(a, bits));
    return _mm512_madd_epi16(both, _mm512_or_si512(_mm512_slli_epi32(part, 16), left));
}
EK_INLINE __m512i ek_x16_s16(const int16_t *p, const int32_t count)
{
    return _mm512_cvtepi16_epi32(_mm256_maskz_loadu_epi16(ek_x16_first(count), p));
}
EK_INLINE __m512i ek_x16_s8(const int8_t *p, const int32_t count)
{
    return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(ek_x16_first(count), p));
}
EK_INLINE void ek_x16_store_s8(int8_t *p, const __m512i y, const int32_t count)
{
    _mm512_mask_cvtsepi32_storeu_epi8(p, ek_x16_first(count), y);
}

#define EK_ONE(name) ek_x16_##name
#include "edgekit/loops/gates_lanes.h"

#define EK_WIDE(name) ek_x16_##name
#define EK_MM(name) _mm512_##name
#define EK_LANES 16
#define EK_TAPS 4
#include "edgekit/simd/x86/gates_x86.h"
#undef EK_WIDE
#undef EK_MM
#undef EK_LANES
#undef EK_TAPS

#define EK_STATE(name) ek_x16_##name
#define EK_ROWS EK_X16_ROWS
#define EK_WIDTH 16
#include "edgekit/loops/gates_sums.h"
#undef EK_STATE
#undef EK_ONE
#undef EK_ROWS
#undef EK_WIDTH

#endif
