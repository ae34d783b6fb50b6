/* int8 function by table, for 64 numbers together. Both halves of the table are in registers, as differences (XOR) between
 * blocks of sixteen: a shuffle gives 0 where a number is before its block, so that those up to its own add up to its value. */
#include "edgekit/contracts/table_s8.h"

#include <immintrin.h>

EK_KERNEL void EK_FN(const int8_t *x, const int8_t *table, int8_t *y, const struct EK_STRUCT *p)
{
    __m512i below[8], above[8]; /* of numbers below 0, and of others */
    EK_UNROLLED_FOR(8, int32_t k = 0; k < 8; k++) {
        const __m128i *const from = (const __m128i *)(const void *)(table + 16 * k);
        const __m128i none = _mm_setzero_si128();
        const __m128i before = k ? _mm_loadu_si128(from - 1) : none;
        const __m128i behind = k ? _mm_loadu_si128(from + 7) : none;
        below[k] = _mm512_broadcast_i32x4(_mm_xor_si128(_mm_loadu_si128(from), before));
        above[k] = _mm512_broadcast_i32x4(_mm_xor_si128(_mm_loadu_si128(from + 8), behind));
    }
    for (int32_t i = 0; i < p->n; i += 64) {
        const __mmask64 some = p->n - i < 64 ? ((__mmask64)1 << (p->n - i)) - 1 : ~(__mmask64)0;
        const __m512i v = _mm512_maskz_loadu_epi8(some, x + i);
        __m512i at = _mm512_and_si512(v, _mm512_set1_epi8(127));
        __m512i low = _mm512_shuffle_epi8(below[0], at), high = _mm512_shuffle_epi8(above[0], at);
        EK_UNROLLED_FOR(8, int32_t k = 1; k < 8; k++) {
            at = _mm512_sub_epi8(at, _mm512_set1_epi8(16));
            low = _mm512_xor_si512(low, _mm512_shuffle_epi8(below[k], at));
            high = _mm512_xor_si512(high, _mm512_shuffle_epi8(above[k], at));
        }
        _mm512_mask_storeu_epi8(y + i, some, _mm512_mask_blend_epi8(_mm512_movepi8_mask(v), high, low));
    }
}
