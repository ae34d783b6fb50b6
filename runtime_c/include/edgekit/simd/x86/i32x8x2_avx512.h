/* Sums of eight outputs of two pixels at a time by AVX-512 VNNI. While products are added, a vector has eight outputs of one
 * pixel and eight bytes of x, in two lanes each; then two of these become one. All else is as in i32x16_avx512.h. Weights
 * are tiled O/8! H WI/8! o8 wi8; what outputs begin and are multiplied with comes twice, for a pixel and the next. */
#ifndef EDGEKIT_I32X8X2_AVX512_H
#define EDGEKIT_I32X8X2_AVX512_H

#include "edgekit/simd/x86/i32x16_avx512.h"

#define ek_x8x2_layer ek_x16_layer
#define ek_x8x2_copy ek_x16_copy
#define ek_x8x2_fill ek_x16_fill

/* Bytes of a number in the copy, and of those that are multiplied at a time. */
#define EK_X8X2_SIZE 1
#define EK_X8X2_STEP 8

/* Eight bytes anywhere. */
typedef int64_t ek_eight_x86 __attribute__((aligned(1), may_alias));

/* The sums of two pixels. */
EK_INLINE __m512i ek_x8x2_joined(const __m512i a, const __m512i b)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    return _mm512_add_epi32(_mm512_permutex2var_epi32(a, even, b), _mm512_permutex2var_epi32(a, odd, b));
}

/* Stores `count` pixels of at most eight: 1, 2, 4 or 8 outputs of the eight bytes of each. */
EK_INLINE void ek_x8x2_store(int8_t *y, const __m512i packed, const int32_t count, const int32_t outputs)
{
    const __m512i all = outputs == 8   ? packed
                        : outputs == 4 ? _mm512_castsi256_si512(_mm512_cvtepi64_epi32(packed))
                        : outputs == 2 ? _mm512_castsi128_si512(_mm512_cvtepi64_epi16(packed))
                                       : _mm512_castsi128_si512(_mm512_cvtepi64_epi8(packed));
    if (count * outputs == 64)
        ek_x16_store_all(y, all);
    else
        _mm512_mask_storeu_epi8(y, ~(uint64_t)0 >> (64 - count * outputs), all);
}

EK_PART void ek_x8x2_tile(const uint8_t *x, int8_t *y, const int32_t x_step, const int32_t pixels,
    const struct ek_x16_scales *scales, const struct ek_x16_layer *s)
{
    const int32_t vectors = (pixels + 1) / 2, last = vectors - 1;
    const __m512i bias = ek_x16_load(s->b);
    const int8_t *w = s->w;
    __m512i sum[16], z[8];
    EK_UNROLLED_FOR(16, int32_t q = 0; q < pixels; q++)
        sum[q] = _mm512_setzero_si512();
    for (int32_t i = 0; i < s->rows; i++) {
        const uint8_t *from = x + i * s->row_step;
        for (int32_t c = 0; c < s->steps; c++, from += EK_X8X2_STEP, w += 64) {
            const __m512i weights = ek_x16_load(w);
            EK_UNROLLED_FOR(16, int32_t q = 0; q < pixels; q++) {
                const ek_eight_x86 *const eight = (const ek_eight_x86 *)(const void *)(from + q * x_step);
                sum[q] = ek_x16_dot(sum[q], _mm512_set1_epi64(*eight), weights);
            }
        }
    }
    EK_UNROLLED_FOR(8, int32_t n = 0; n < vectors; n++) {
        const __m512i pair = ek_x8x2_joined(sum[2 * n], sum[2 * n + 1 < pixels ? 2 * n + 1 : 2 * n]);
        z[n] = ek_x16_requantized(s->kind, ek_x16_add(bias, pair), scales);
    }
    EK_UNROLLED_FOR(8, int32_t n = 0; n < vectors; n += 4) {
        const __m512i packed = ek_x16_packed(z[n], z[n + 1 < last ? n + 1 : last],
            z[n + 2 < last ? n + 2 : last], z[n + 3 < last ? n + 3 : last], s->zero, s->lo, s->hi);
        const int32_t left = pixels - 2 * n;
        ek_x8x2_store(y + 2 * n * s->outputs, packed, left < 8 ? left : 8, s->outputs);
    }
}

/* `lines` of `length` pixels. The last tile of a line may overlap the one before it. */
EK_INLINE void ek_x8x2_lines(const uint8_t *x, int8_t *y, const int32_t lines, const int32_t line_step,
    const int32_t x_step, const int32_t length, const struct ek_x16_layer *s)
{
    const struct ek_x16_scales scales = ek_x16_scales(s->kind, s->m, s->e, 0);
    for (int32_t h = 0; h < lines; h++, x += line_step, y += length * s->outputs) {
#define EK_TILES(n)                                                                                          \
    for (int32_t k = 0; k < length; k += (n)) {                                                              \
        const int32_t at = k + (n) <= length ? k : length - (n);                                             \
        ek_x8x2_tile(x + at * x_step, y + at * s->outputs, x_step, (n), &scales, s);                         \
    }
        if (length >= 16 && (length + 15) / 16 * 16 <= (length + 7) / 8 * 8)
            EK_TILES(16)
        else if (length >= 8)
            EK_TILES(8)
        else if (length >= 4)
            EK_TILES(4)
        else
            EK_TILES(1)
#undef EK_TILES
    }
}

#endif
