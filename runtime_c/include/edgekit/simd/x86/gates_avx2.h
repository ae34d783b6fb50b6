/* Gates of recurrent layers of integers with AVX2, eight numbers at a time: see gates.h. */
#ifndef EDGEKIT_GATES_AVX2_H
#define EDGEKIT_GATES_AVX2_H

#include "edgekit/loops/gates.h"
#include "edgekit/simd/x86/i32x8_avx2.h"

#define EK_X8_ROWS 64

/* The state as products want it, copied to `room`. */
EK_INLINE const int8_t *ek_x8_read(const int8_t *h, int16_t *room, const int32_t size)
{
    ek_x8_copy(h, (uint8_t *)room, size);
    return (const int8_t *)room;
}

EK_INLINE __m256i ek_x8_magnitude(const __m256i a)
{
    return _mm256_abs_epi32(a);
}
/* Where x is 0, y is 0. */
EK_INLINE __m256i ek_x8_signed(const __m256i y, const __m256i x)
{
    return _mm256_sign_epi32(y, x);
}
/* Both numbers of the table at once, and what each counts. */
EK_INLINE __m256i ek_x8_between(const int16_t *table, const __m256i a, const int32_t bits)
{
    const __m256i i = ek_x8_shifted(a, bits), part = _mm256_and_si256(a, _mm256_set1_epi32((1 << bits) - 1));
    const __m256i both = _mm256_i32gather_epi32((const int *)(const void *)table, i, 2);
    const __m256i left = _mm256_sub_epi32(_mm256_set1_epi32(1 << bits), part);
    return _mm256_madd_epi16(both, _mm256_or_si256(_mm256_slli_epi32(part, 16), left));
}
EK_INLINE __m256i ek_x8_s16(const int16_t *p, const int32_t count)
{
    int16_t some[8] = {0};
    for (int32_t i = 0; count < 8 && i < count; i++)
        some[i] = p[i];
    return _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(count < 8 ? some : p)));
}
EK_INLINE __m256i ek_x8_s8(const int8_t *p, const int32_t count)
{
    int8_t some[8] = {0};
    for (int32_t i = 0; count < 8 && i < count; i++)
        some[i] = p[i];
    return ek_x8_widened(count < 8 ? some : p);
}
EK_INLINE void ek_x8_store_s8(int8_t *p, const __m256i y, const int32_t count)
{
    const __m256i mixed = _mm256_packs_epi32(y, y), bytes = _mm256_packs_epi16(mixed, mixed);
    const __m128i packed =
        _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    int8_t some[8];
    _mm_storel_epi64((__m128i *)(void *)(count < 8 ? some : p), packed);
    for (int32_t i = 0; count < 8 && i < count; i++)
        p[i] = some[i];
}

#define EK_ONE(name) ek_x8_##name
#include "edgekit/loops/gates_lanes.h"

#define EK_WIDE(name) ek_x8_##name
#define EK_MM(name) _mm256_##name
#define EK_LANES 8
#define EK_TAPS 2
#include "edgekit/simd/x86/gates_x86.h"
#undef EK_WIDE
#undef EK_MM
#undef EK_LANES
#undef EK_TAPS

#define EK_STATE(name) ek_x8_##name
#define EK_ROWS EK_X8_ROWS
#define EK_WIDTH 8
#include "edgekit/loops/gates_sums.h"
#undef EK_STATE
#undef EK_ONE
#undef EK_ROWS
#undef EK_WIDTH

#endif
