/* int8 function by table, for 32 numbers together. Blocks of sixteen results are differences (XOR) from the ones before: a shuffle
 * gives 0 where a number is before its block, so that those up to its own add up to its result. */
#include "edgekit/contracts/table_s8.h"

#include <immintrin.h>

EK_KERNEL void EK_FN(const int8_t *x, const int8_t *table, int8_t *y, const struct EK_STRUCT *p)
{
    __m256i below[8], above[8]; /* of numbers below 0, and of others */
    int32_t i = 0;
    EK_UNROLLED_FOR(8, int32_t k = 0; k < 8; k++) {
        const __m128i *const from = (const __m128i *)(const void *)(table + 16 * k);
        const __m128i none = _mm_setzero_si128();
        const __m128i before_below = k ? _mm_loadu_si128(from - 1) : none;
        const __m128i before_above = k ? _mm_loadu_si128(from + 7) : none;
        below[k] = _mm256_broadcastsi128_si256(_mm_xor_si128(_mm_loadu_si128(from), before_below));
        above[k] = _mm256_broadcastsi128_si256(_mm_xor_si128(_mm_loadu_si128(from + 8), before_above));
    }
    for (; i + 32 <= p->n; i += 32) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(x + i));
        __m256i at = _mm256_and_si256(v, _mm256_set1_epi8(127));
        __m256i low = _mm256_shuffle_epi8(below[0], at), high = _mm256_shuffle_epi8(above[0], at);
        EK_UNROLLED_FOR(8, int32_t k = 1; k < 8; k++) {
            at = _mm256_sub_epi8(at, _mm256_set1_epi8(16));
            low = _mm256_xor_si256(low, _mm256_shuffle_epi8(below[k], at));
            high = _mm256_xor_si256(high, _mm256_shuffle_epi8(above[k], at));
        }
        _mm256_storeu_si256((__m256i *)(void *)(y + i), _mm256_blendv_epi8(high, low, v));
    }
    for (; i < p->n; i++)
        y[i] = table[x[i] + 128];
}
