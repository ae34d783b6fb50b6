/* Rows that were quantized in this run, by AVX2: blocks of 16 outputs.
 *
 * Weights of 8 bits lie in fours of an output, and are widened for all rows. Those of 4 bits lie in eights, the first four
 * in the lower halves of bytes. They are 8 more, without a sign: sums of 32 products fit into 16 bits. */
#ifndef EDGEKIT_DYNAMIC_ROWS_AVX2_H
#define EDGEKIT_DYNAMIC_ROWS_AVX2_H

#include "edgekit/loops/dynamic_rows.h"
#include "edgekit/simd/x86/f32_avx2.h"
#include "edgekit/simd/x86/i32x8_avx2.h"

#define EK_DR_ROWS(kind) ((kind) == EK_S4_KIND ? 4 : 2)
#define EK_DR_BLOCK 16 /* outputs */
#define EK_DR_OFFSET(kind) ((kind) == EK_S4_KIND ? 8 : 0)
#define EK_DR_VECTORS(kind) 2

typedef __m256i ek_dr_ints;

EK_INLINE ek_dr_ints ek_dr_same(const int32_t x)
{
    return _mm256_set1_epi32(x);
}

EK_INLINE ek_vf ek_dr_reals(const ek_dr_ints sum)
{
    return _mm256_cvtepi32_ps(sum);
}

/* a + the bits of b, which are integers. */
EK_INLINE ek_dr_ints ek_dr_more(const ek_dr_ints a, const ek_vf b)
{
    return _mm256_add_epi32(a, _mm256_castps_si256(b));
}

/* Pairs of neighbours of a, then of b. */
EK_INLINE __m256i ek_dr_pairs(const __m256i a, const __m256i b)
{
    return _mm256_permute4x64_epi64(_mm256_hadd_epi32(a, b), 0xD8);
}

EK_INLINED void ek_dr_bytes(ek_dr_ints *sum, const int8_t *x, const int32_t step, const int8_t *w,
    const int32_t count, const int32_t rows)
{
    __m256i parts[8]; /* two of each output */
    EK_UNROLLED_FOR(8, int32_t k = 0; k < 4 * rows; k++)
        parts[k] = _mm256_setzero_si256();
    for (int32_t i = 0; i < count; i += 4, w += 64)
        EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++) {
            const __m256i v = ek_x8_weights(w + 16 * k);
            EK_UNROLLED_FOR(2, int32_t r = 0; r < rows; r++) {
                const ek_four_x86 four = *(const ek_four_x86 *)(const void *)(x + r * step + i);
                const __m256i t = _mm256_cvtepi8_epi16(_mm_set1_epi32(four));
                parts[4 * r + k] = ek_x8_dot(parts[4 * r + k], v, t);
            }
        }
    EK_UNROLLED_FOR(4, int32_t k = 0; k < 2 * rows; k++)
        sum[k] = _mm256_add_epi32(sum[k], ek_dr_pairs(parts[2 * k], parts[2 * k + 1]));
}

/* 32 inputs at most. */
EK_INLINED void ek_dr_nibbles(ek_dr_ints *sum, const int8_t *x, const int32_t step, const uint8_t *w,
    const int32_t count, const int32_t rows)
{
    const __m256i low = _mm256_set1_epi8(15);
    __m256i parts[8]; /* of 16 bits */
    EK_UNROLLED_FOR(8, int32_t k = 0; k < 2 * rows; k++)
        parts[k] = _mm256_setzero_si256();
    for (int32_t i = 0; i < count; i += 8, w += 64) {
        const __m256i a = ek_x8_load(w), b = ek_x8_load(w + 32);
        const __m256i first[2] = {_mm256_and_si256(a, low), _mm256_and_si256(b, low)};
        const __m256i second[2] = {
            _mm256_and_si256(_mm256_srli_epi16(a, 4), low), _mm256_and_si256(_mm256_srli_epi16(b, 4), low)};
        EK_UNROLLED_FOR(4, int32_t r = 0; r < rows; r++) {
            const uint8_t *const at = (const uint8_t *)x + r * step + i;
            const __m256i t = ek_x8_spread(at), u = ek_x8_spread(at + 4);
            EK_UNROLLED_FOR(2, int32_t k = 0; k < 2; k++) {
                const __m256i sums =
                    _mm256_add_epi16(_mm256_maddubs_epi16(first[k], t), _mm256_maddubs_epi16(second[k], u));
                parts[2 * r + k] = _mm256_add_epi16(parts[2 * r + k], sums);
            }
        }
    }
    EK_UNROLLED_FOR(8, int32_t k = 0; k < 2 * rows; k++)
        sum[k] = _mm256_add_epi32(sum[k], _mm256_madd_epi16(parts[k], _mm256_set1_epi16(1)));
}

/* Adds the products of `count` inputs, whole eights, of some rows and a block of outputs. */
EK_INLINED void ek_dr_products(ek_dr_ints *sum, const int8_t *x, const int32_t step, const void *w,
    const int32_t count, const int32_t rows, const int32_t kind)
{
    if (kind == EK_S4_KIND)
        for (int32_t i = 0; i < count; i += 32)
            ek_dr_nibbles(
                sum, x + i, step, (const uint8_t *)w + 8 * i, count - i < 32 ? count - i : 32, rows);
    else
        ek_dr_bytes(sum, x, step, (const int8_t *)w, count, rows);
}

#endif
