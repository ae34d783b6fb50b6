/* Eight sums at a time by AVX2: x is copied in 16 bits, weights are widened when they are read. The requantization rules
 * of EdgeKit, with a multiplier and an exponent for each sum; sums have at most 30 bits, their sign apart. */
#ifndef EDGEKIT_I32X8_AVX2_H
#define EDGEKIT_I32X8_AVX2_H

#include <immintrin.h>

#include "edgekit/simd/x86/rules_x86.h"

#define EK_X8_LANES 8

typedef __m256i ek_x8_ints;

/* Four bytes anywhere. */
typedef int32_t ek_four_x8 __attribute__((aligned(1), may_alias));

EK_INLINE __m256i ek_x8_load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}
EK_INLINE __m256i ek_x8_weights(const int8_t *p)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}
/* Four bytes of x for all lanes. */
EK_INLINE __m256i ek_x8_spread(const uint8_t *x)
{
    return _mm256_set1_epi32(*(const ek_four_x8 *)(const void *)x);
}
EK_INLINE __m256i ek_x8_same(const int32_t x)
{
    return _mm256_set1_epi32(x);
}
EK_INLINE __m256i ek_x8_add(const __m256i a, const __m256i b)
{
    return _mm256_add_epi32(a, b);
}
EK_INLINE __m256i ek_x8_times(const __m256i a, const __m256i b)
{
    return _mm256_mullo_epi32(a, b);
}
/* a >> shift. */
EK_INLINE __m256i ek_x8_shifted(const __m256i a, const int32_t shift)
{
    return _mm256_sra_epi32(a, _mm_cvtsi32_si128(shift));
}
/* Eight int8. */
EK_INLINE __m256i ek_x8_widened(const int8_t *p)
{
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

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
    const ek_four_x8 *const from = (const ek_four_x8 *)(const void *)x;
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

/* What eight sums are multiplied by and shifted, as the rules want it. */
struct ek_x8_scales {
    __m256i m;
    __m256i m_odd; /* of odd lanes, in even ones */
    __m256i shift;
    __m256i last_shift;
    __m256i half; /* of a unit of the last shift; the offset of a line */
    __m256i away; /* where the last shift rounds halves away from zero */
};

/* The scales of outputs from `at` on. */
EK_INLINE struct ek_x8_scales ek_x8_scales(
    const int32_t kind, const int32_t *m, const int8_t *e, const int32_t at)
{
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi32(1);
    struct ek_x8_scales s;
    s.m = ek_x8_load(m + at);
    s.m_odd = zero;
    s.shift = zero;
    s.last_shift = zero;
    s.half = zero;
    s.away = zero;
    if (kind >= 4) {
        s.half = ek_x8_load(e + 4 * at);
        return s;
    }
    const __m256i exponent =
        kind < 2 ? _mm256_set1_epi32(e[0])
                 : _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(e + at)));
    const __m256i up = _mm256_max_epi32(exponent, zero);
    s.m_odd = _mm256_srli_epi64(s.m, 32);
    s.shift = exponent;
    if (kind == 0) {
        s.last_shift = _mm256_set1_epi32(e[0] - 32);
        s.half = _mm256_sllv_epi64(_mm256_set1_epi64x(1), _mm256_set1_epi64x(e[0] - 1));
    } else if (kind == 3) {
        s.shift = _mm256_add_epi32(up, one);
        s.last_shift = _mm256_sub_epi32(up, exponent);
        s.half = _mm256_sllv_epi32(one, _mm256_sub_epi32(s.last_shift, one));
        s.away = _mm256_cmpgt_epi32(s.last_shift, zero);
    }
    return s;
}

/* The same with one multiplier and exponent for all. */
EK_INLINE struct ek_x8_scales ek_x8_scale(const int32_t kind, const int32_t m, const int32_t e)
{
    const __m256i one = _mm256_set1_epi32(1), zero = _mm256_setzero_si256();
    struct ek_x8_scales s;
    s.m = _mm256_set1_epi32(m);
    s.m_odd = s.m;
    s.shift = _mm256_set1_epi32(kind < 3 ? e : e < 0 ? 1 : e + 1);
    s.last_shift = _mm256_set1_epi32(kind < 3 ? e - 32 : e < 0 ? -e : 0);
    s.half = kind == 0 ? _mm256_sllv_epi64(_mm256_set1_epi64x(1), _mm256_set1_epi64x(e - 1))
                       : _mm256_sllv_epi32(one, _mm256_sub_epi32(s.last_shift, one));
    s.away = _mm256_cmpgt_epi32(s.last_shift, zero);
    return s;
}

/* The upper halves of four sums of even and four of odd lanes. */
EK_INLINE __m256i ek_x8_upper(const __m256i even, const __m256i odd)
{
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}

/* Rule E. */
EK_INLINE __m256i ek_x8_by_e(const __m256i acc, const struct ek_x8_scales *s)
{
    const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(acc, s->m), s->half);
    const __m256i odd = _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(acc, 32), s->m_odd), s->half);
    return _mm256_srav_epi32(ek_x8_upper(even, odd), s->last_shift);
}

/* Rule T: the sum is doubled, so that the product's upper half is what counts. */
EK_INLINE __m256i ek_x8_by_tfl(const __m256i acc, const struct ek_x8_scales *s)
{
    const __m256i a = _mm256_sllv_epi32(acc, s->shift), half = _mm256_set1_epi64x((int64_t)1 << 31);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(a, s->m), half);
    const __m256i odd = _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(a, 32), s->m_odd), half);
    const __m256i y = ek_x8_upper(even, odd), sign = _mm256_and_si256(s->away, _mm256_srai_epi32(y, 31));
    return _mm256_srav_epi32(_mm256_add_epi32(_mm256_add_epi32(y, s->half), sign), s->last_shift);
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

/* A line. */
EK_INLINE __m256i ek_x8_by_line(const int32_t is_away, const __m256i acc, const struct ek_x8_scales *s)
{
    const __m256i sign = _mm256_and_si256(acc, _mm256_set1_epi32(INT32_MIN));
    const __m256i offset = is_away ? _mm256_or_si256(sign, s->half) : s->half;
    return _mm256_cvtps_epi32(
        _mm256_fmadd_ps(_mm256_cvtepi32_ps(acc), _mm256_castsi256_ps(s->m), _mm256_castsi256_ps(offset)));
}

/* The rule of this kind. */
EK_INLINE __m256i ek_x8_requantized(const int32_t kind, const __m256i acc, const struct ek_x8_scales *s)
{
    return kind >= 4   ? ek_x8_by_line(kind == 5, acc, s)
           : kind == 0 ? ek_x8_by_e(acc, s)
           : kind == 3 ? ek_x8_by_tfl(acc, s)
                       : ek_x8_by_once(kind == 2, acc, s);
}

/* No less than lo and no more than hi. */
EK_INLINE __m256i ek_x8_clamped(const __m256i y, const int32_t lo, const int32_t hi)
{
    const __m256i low = lo > -128 ? _mm256_max_epi8(_mm256_set1_epi8((char)lo), y) : y;
    return hi < 127 ? _mm256_min_epi8(_mm256_set1_epi8((char)hi), low) : low;
}

/* clamp(zero + y) of four times eight results, four of each behind the other in each half. */
EK_INLINE __m256i ek_x8_mixed(const __m256i a, const __m256i b, const __m256i c, const __m256i d,
    const int32_t zero, const int32_t lo, const int32_t hi)
{
    __m256i first = _mm256_packs_epi32(a, b), second = _mm256_packs_epi32(c, d);
    if (zero != 0) {
        first = _mm256_adds_epi16(first, _mm256_set1_epi16((int16_t)zero));
        second = _mm256_adds_epi16(second, _mm256_set1_epi16((int16_t)zero));
    }
    return ek_x8_clamped(_mm256_packs_epi16(first, second), lo, hi);
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

/* No less than lo and no more than hi. */
EK_INLINE __m256i ek_x8_bounded(const __m256i a, const int32_t lo, const int32_t hi)
{
    return _mm256_min_epi32(_mm256_max_epi32(a, _mm256_set1_epi32(lo)), _mm256_set1_epi32(hi));
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

/* Vectors of the sums of a window. */
#define EK_X8_PARTS 2
/* Bytes of a number in the copy. */
#define EK_X8_SIZE 2

#define EK_WIDE(name) ek_x8_##name
#define EK_LANES 8
#define EK_TAPS 2
#define EK_BLOCKS 2
#define EK_PIXELS(blocks) ((blocks) == 1 ? 12 : 6)
#include "edgekit/simd/x86/pixel_rows_s8_x86.h"
#undef EK_WIDE
#undef EK_LANES
#undef EK_TAPS
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
