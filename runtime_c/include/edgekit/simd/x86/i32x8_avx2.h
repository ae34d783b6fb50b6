/* Eight sums at a time by AVX2: x is copied in 16 bits, weights are widened when they are read. The requantization rules
 * of EdgeKit, with a multiplier and an exponent for each sum; sums have at most 30 bits, their sign apart. */
#ifndef EDGEKIT_I32X8_AVX2_H
#define EDGEKIT_I32X8_AVX2_H

#include <immintrin.h>

#include "edgekit/simd/x86/rules_x86.h"

#define EK_X8_LANES 8

typedef __m256i ek_x8_ints;

EK_INLINE __m256i ek_x8_load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}
EK_INLINE __m256i ek_x8_weights(const int8_t *p)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}

/* Eight int8. */
EK_INLINE __m256i ek_x8_widened(const int8_t *p)
{
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

/* Lanes, as a number of these bits each: all of them or none. */
typedef __m256i ek_x8_lanes;
typedef __m256 ek_x8_reals;

EK_INLINE ek_x8_lanes ek_x8_above_zero(const __m256i a)
{
    return _mm256_cmpgt_epi32(a, _mm256_setzero_si256());
}
/* a, and b more in these lanes. */
EK_INLINE __m256i ek_x8_add_where(const __m256i a, const ek_x8_lanes lanes, const __m256i b)
{
    return _mm256_add_epi32(a, _mm256_and_si256(lanes, b));
}
/* The bits of a number that is not negative, with the sign of b. */
EK_INLINE __m256i ek_x8_with_sign(const __m256i a, const __m256i b)
{
    return _mm256_or_si256(_mm256_and_si256(b, _mm256_set1_epi32(INT32_MIN)), a);
}
/* One number in lanes of 64 bits. */
EK_INLINE __m256i ek_x8_same_long(const int64_t x)
{
    return _mm256_set1_epi64x(x);
}

/* The upper halves of four sums of even and four of odd lanes. */
EK_INLINE __m256i ek_x8_upper(const __m256i even, const __m256i odd)
{
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}

#define EK_WIDE(name) ek_x8_##name
#define EK_MM(name) _mm256_##name
#include "edgekit/simd/x86/i32_x86.h"
#undef EK_MM

/* acc + products of two numbers of a and b, in each lane. Not the intrinsics: gcc 12 would compute many products first,
 * and keep them in memory. */
EK_INLINE __m256i ek_x8_dot(__m256i acc, const __m256i a, const __m256i b)
{
    __m256i product;
    __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(acc), "=&x"(product) : "x"(a), "x"(b));
    return acc;
}

/* The same for four bytes of x and one or two vectors of weights. */
EK_PART void ek_x8_dots(__m256i *acc, const uint8_t *x, const __m256i *w, const int32_t blocks)
{
    const ek_four_x86 *const from = (const ek_four_x86 *)(const void *)x;
    __m256i t, product;
    if (blocks == 1)
        __asm__("vpbroadcastd %2, %1\n\tvpmaddwd %3, %1, %1\n\tvpaddd %1, %0, %0"
            : "+x"(acc[0]), "=&x"(t)
            : "m"(*from), "x"(w[0]));
    else
        __asm__("vpbroadcastd %4, %2\n\tvpmaddwd %5, %2, %3\n\tvpaddd %3, %0, %0\n\t"
                "vpmaddwd %6, %2, %2\n\tvpaddd %2, %1, %1"
            : "+x"(acc[0]), "+x"(acc[1]), "=&x"(t), "=&x"(product)
            : "m"(*from), "x"(w[0]), "x"(w[1]));
}

/* a >> shift in lanes of 64 bits, which AVX2 has for numbers without signs only. */
EK_INLINE __m256i ek_x8_shifted_long(const __m256i a, const __m256i shift)
{
    const __m256i least = _mm256_set1_epi64x(INT64_MIN);
    return _mm256_sub_epi64(
        _mm256_srlv_epi64(_mm256_xor_si256(a, least), shift), _mm256_srlv_epi64(least, shift));
}

/* One rounding of a product, as rule E does it or, where `is_away`, halves away from zero; lanes of 64 bits. */
EK_INLINE __m256i ek_x8_rounded(const int32_t is_away, const __m256i product, const __m256i e)
{
    const __m256i shift = is_away ? _mm256_sub_epi64(_mm256_set1_epi64x(31), e) : e,
                  zero = _mm256_setzero_si256();
    const __m256i half =
        _mm256_sllv_epi64(_mm256_set1_epi64x(1), _mm256_sub_epi64(shift, _mm256_set1_epi64x(1)));
    const __m256i sign = is_away ? _mm256_cmpgt_epi64(zero, product) : zero;
    const __m256i y = ek_x8_shifted_long(_mm256_add_epi64(_mm256_add_epi64(product, sign), half), shift);
    const __m256i most = _mm256_set1_epi64x((int64_t)1 << 30),
                  least = _mm256_set1_epi64x(-((int64_t)1 << 30));
    const __m256i low = _mm256_blendv_epi8(y, most, _mm256_cmpgt_epi64(y, most));
    return _mm256_blendv_epi8(low, least, _mm256_cmpgt_epi64(least, low));
}

/* Rule E for large ratios, and that of a single rounding. */
EK_INLINE __m256i ek_x8_by_once(const int32_t is_away, const __m256i acc, const struct ek_x8_scales *s)
{
    const __m256i up = _mm256_set1_epi64x(64); /* exponents are -31 and more: then they have no sign */
    const __m256i shift = _mm256_add_epi32(s->shift, _mm256_set1_epi32(64));
    const __m256i low = _mm256_srli_epi64(_mm256_slli_epi64(shift, 32), 32),
                  high = _mm256_srli_epi64(shift, 32);
    const __m256i even = ek_x8_rounded(is_away, _mm256_mul_epi32(acc, s->m), _mm256_sub_epi64(low, up));
    const __m256i odd = ek_x8_rounded(
        is_away, _mm256_mul_epi32(_mm256_srli_epi64(acc, 32), s->m_odd), _mm256_sub_epi64(high, up));
    return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
}

/* The same, one behind the other. */
EK_INLINE __m256i ek_x8_packed(const __m256i a, const __m256i b, const __m256i c, const __m256i d,
    const int32_t zero, const int32_t lo, const int32_t hi)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    return _mm256_permutevar8x32_epi32(ek_x8_mixed(a, b, c, d, zero, lo, hi), order);
}

/* Stores four times eight results, those of one half, and `count` of quarter `k`. */
EK_INLINE void ek_x8_store_all(int8_t *y, const __m256i packed)
{
    _mm256_storeu_si256((__m256i *)(void *)y, packed);
}
EK_INLINE void ek_x8_store_half(int8_t *y, const __m256i packed, const int32_t k)
{
    _mm_storeu_si128(
        (__m128i *)(void *)y, k == 0 ? _mm256_castsi256_si128(packed) : _mm256_extracti128_si256(packed, 1));
}
EK_INLINE void ek_x8_store(int8_t *y, const __m256i packed, const int32_t k, const int32_t count)
{
    const __m128i half = k < 2 ? _mm256_castsi256_si128(packed) : _mm256_extracti128_si256(packed, 1);
    const __m128i z = k % 2 == 0 ? half : _mm_unpackhi_epi64(half, half);
    if (count == 8)
        _mm_storel_epi64((__m128i *)(void *)y, z);
    else {
        uint64_t rest = (uint64_t)_mm_cvtsi128_si64(z);
        for (int32_t i = 0; i < count; i++, rest >>= 8)
            y[i] = (int8_t)(uint8_t)rest;
    }
}

/* Stores `count` results of 16 bits. */
EK_INLINE void ek_x8_store_s16(int16_t *p, const __m256i y, const int32_t count)
{
    const __m256i mixed = _mm256_packs_epi32(y, y);
    const __m128i packed = _mm256_castsi256_si128(_mm256_permute4x64_epi64(mixed, 8));
    int16_t some[8];
    _mm_storeu_si128((__m128i *)(void *)(count < 8 ? some : p), packed);
    for (int32_t i = 0; count < 8 && i < count; i++)
        p[i] = some[i];
}

/* `size` numbers of x as the instructions want them: in 16 bits. The last ones may be copied twice. */
EK_INLINE void ek_x8_copy(const int8_t *x, uint8_t *y, int32_t size)
{
    if (size < 8) {
        for (; size > 0; size--, x++, y += 2) {
            y[0] = (uint8_t)x[0];
            y[1] = (uint8_t)(x[0] >> 7);
        }
        return;
    }
    for (; size >= 16; size -= 16, x += 16, y += 32)
        _mm256_storeu_si256((__m256i *)(void *)y, ek_x8_weights(x));
    for (; size > 0; size -= 8, x += 8, y += 16) {
        const int32_t back = size < 8 ? 8 - size : 0;
        const __m128i part = _mm_loadl_epi64((const __m128i *)(const void *)(x - back));
        _mm_storeu_si128((__m128i *)(void *)(y - 2 * back), _mm_cvtepi8_epi16(part));
    }
}

/* One number, `count` times. */
EK_INLINE void ek_x8_fill(const int32_t x, uint8_t *y, int32_t count)
{
    for (; count >= 16; count -= 16, y += 32)
        _mm256_storeu_si256((__m256i *)(void *)y, _mm256_set1_epi16((int16_t)x));
    for (; count > 0; count--, y += 2) {
        y[0] = (uint8_t)x;
        y[1] = (uint8_t)(x >> 7);
    }
}

/* `count` of sixteen results of a window. */
EK_INLINE void ek_x8_store_group(
    int8_t *y, const __m256i *z, const int32_t zero, const int32_t lo, const int32_t hi, const int32_t count)
{
    const __m256i mixed = ek_x8_mixed(z[0], z[1], z[0], z[1], zero, lo, hi);
    const __m256i packed = _mm256_permute4x64_epi64(mixed, 0xD8);
    if (count == 16)
        ek_x8_store_half(y, packed, 0);
    else {
        ek_x8_store(y, packed, 0, count < 8 ? count : 8);
        if (count > 8)
            ek_x8_store(y + 8, packed, 1, count - 8);
    }
}

/* Vectors of the sums of a window, and of its weights that registers have room for. */
#define EK_X8_PARTS 2
#define EK_X8_KEPT 1
/* Bytes of a number in the copy, and of those that are multiplied at a time. */
#define EK_X8_SIZE 2
#define EK_X8_STEP 4
/* Vectors of outputs whose weights dense layers have side by side. */
#define EK_X8_ABREAST 1

#define EK_LANES 8
#define EK_TAPS 2
#define EK_ABREAST EK_X8_ABREAST
#define EK_BLOCKS 2
#define EK_PIXELS(blocks) ((blocks) == 1 ? 12 : 6)
#include "edgekit/simd/x86/pixel_rows_s8_x86.h"

#include "edgekit/simd/x86/matrices_s8_x86.h"
#undef EK_WIDE
#undef EK_LANES
#undef EK_TAPS
#undef EK_ABREAST
#undef EK_BLOCKS
#undef EK_PIXELS

/* Bytes of the weights of a channel. */
EK_INLINE int32_t ek_x8_tap_bytes(const struct ek_x8_taps *t)
{
    return (t->k_h * t->k_w + 1) / 2 * 4;
}

/* Adds the products of sixteen channels, two taps at a time; the order of sums is that of vpunpck. */
EK_INLINE void ek_x8_window(__m256i *sum, const uint8_t *x, const int8_t *w, const struct ek_x8_taps *t)
{
    const int32_t count = t->k_h * t->k_w;
    __m256i low = sum[0], high = sum[1];
    EK_UNROLLED_FOR(32, int32_t n = 0; n < count; n += 2, w += 64) {
        const int32_t next = n + 1 < count ? n + 1 : n; /* its weights are 0 */
        const __m256i u = ek_x8_load(x + ek_x8_tap(t, n / t->k_w, n % t->k_w));
        const __m256i v = ek_x8_load(x + ek_x8_tap(t, next / t->k_w, next % t->k_w));
        low = ek_x8_dot(low, _mm256_unpacklo_epi16(u, v), ek_x8_load(w));
        high = ek_x8_dot(high, _mm256_unpackhi_epi16(u, v), ek_x8_load(w + 32));
    }
    sum[0] = low;
    sum[1] = high;
}

#endif
