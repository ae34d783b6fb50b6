/* Products of int8 for attention, with AVX2: eight elements or columns at a time, pairs of 16 bits. */
#ifndef EDGEKIT_ATTENTION_S8_AVX2_H
#define EDGEKIT_ATTENTION_S8_AVX2_H

#include <immintrin.h>

#include "edgekit/math/bits.h"
#include "edgekit/types.h"

#define EK_A8_EIGHTS 4 /* eights of them at a time */

/* Dot products of a query and four keys, of whole eights. */
EK_INLINE void ek_a8_dots(const int8_t *q, const int8_t *const *k, const int32_t size, int32_t *to)
{
    __m256i sum[4];
    int32_t i = 0;
    EK_UNROLLED_FOR(4, int32_t j = 0; j < 4; j++)
        sum[j] = _mm256_setzero_si256();
    for (; i + 16 <= size; i += 16) {
        const __m256i x = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(q + i)));
        EK_UNROLLED_FOR(4, int32_t j = 0; j < 4; j++) {
            const __m128i key = _mm_loadu_si128((const __m128i *)(const void *)(k[j] + i));
            sum[j] = _mm256_add_epi32(sum[j], _mm256_madd_epi16(x, _mm256_cvtepi8_epi16(key)));
        }
    }
    if (i < size) {
        const __m256i x = _mm256_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)(q + i)));
        EK_UNROLLED_FOR(4, int32_t j = 0; j < 4; j++) {
            const __m128i key = _mm_loadl_epi64((const __m128i *)(const void *)(k[j] + i));
            sum[j] = _mm256_add_epi32(sum[j], _mm256_madd_epi16(x, _mm256_cvtepi8_epi16(key)));
        }
    }
    const __m256i all =
        _mm256_hadd_epi32(_mm256_hadd_epi32(sum[0], sum[1]), _mm256_hadd_epi32(sum[2], sum[3]));
    _mm_storeu_si128(
        (__m128i *)(void *)to, _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1)));
}

/* Sums over m keys of weights times values, of some eights of columns. Behind an odd last weight there is a 0. */
EK_INLINED void ek_a8_sums(
    const int16_t *w, const int8_t *v, const int32_t m, const int32_t step, const int32_t eights, int32_t *to)
{
    __m256i sum[EK_A8_EIGHTS];
    EK_UNROLLED_FOR(4, int32_t c = 0; c < eights; c++)
        sum[c] = _mm256_setzero_si256();
    for (int32_t j = 0; j < m; j += 2, v += 2 * step) {
        const int8_t *next = v + (j + 1 < m ? step : 0);
        int32_t both;
        EK_COPY_BITS(both, w[j]);
        const __m256i pair = _mm256_set1_epi32(both);
        EK_UNROLLED_FOR(4, int32_t c = 0; c < eights; c++) {
            const __m128i a = _mm_loadl_epi64((const __m128i *)(const void *)(v + 8 * c));
            const __m128i b = _mm_loadl_epi64((const __m128i *)(const void *)(next + 8 * c));
            const __m256i values = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(a, b));
            sum[c] = _mm256_add_epi32(sum[c], _mm256_madd_epi16(pair, values));
        }
    }
    EK_UNROLLED_FOR(4, int32_t c = 0; c < eights; c++)
        _mm256_storeu_si256((__m256i *)(void *)(to + 8 * c), sum[c]);
}

#endif
