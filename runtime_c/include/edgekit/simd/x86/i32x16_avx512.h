/* Sixteen sums at a time by AVX-512 VNNI, whose left factors are unsigned: x is copied, 128 more. The requantization rules
 * of EdgeKit, with a multiplier and an exponent for each sum; sums have at most 30 bits, their sign apart. */
#ifndef EDGEKIT_I32X16_AVX512_H
#define EDGEKIT_I32X16_AVX512_H

#include <immintrin.h>

#include "edgekit/simd/x86/rules_x86.h"

#define EK_X16_LANES 16

typedef __m512i ek_x16_ints;

/* Four bytes anywhere. */
typedef int32_t ek_four_x16 __attribute__((aligned(1), may_alias));

EK_INLINE __m512i ek_x16_load(const void *p)
{
    return _mm512_loadu_si512(p);
}
EK_INLINE __m512i ek_x16_weights(const int8_t *p)
{
    return _mm512_loadu_si512(p);
}
/* Four bytes of x for all lanes. */
EK_INLINE __m512i ek_x16_spread(const uint8_t *x)
{
    return _mm512_set1_epi32(*(const ek_four_x16 *)(const void *)x);
}
EK_INLINE __m512i ek_x16_same(const int32_t x)
{
    return _mm512_set1_epi32(x);
}
EK_INLINE __m512i ek_x16_add(const __m512i a, const __m512i b)
{
    return _mm512_add_epi32(a, b);
}

EK_INLINE __m512i ek_x16_times(const __m512i a, const __m512i b)
{
    return _mm512_mullo_epi32(a, b);
}
/* a >> shift. */
EK_INLINE __m512i ek_x16_shifted(const __m512i a, const int32_t shift)
{
    return _mm512_sra_epi32(a, _mm_cvtsi32_si128(shift));
}
/* Sixteen int8. */
EK_INLINE __m512i ek_x16_widened(const int8_t *p)
{
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}

/* acc + products of four unsigned bytes of a and four signed ones of b, in each lane. Not the intrinsic: gcc 12 stores
 * arrays of its results to memory at every step. */
EK_INLINE __m512i ek_x16_dot(__m512i acc, const __m512i a, const __m512i b)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
    return acc;
}

/* The same for four bytes of x and some vectors of weights. */
EK_PART void ek_x16_dots(__m512i *acc, const uint8_t *x, const __m512i *w, const int32_t blocks)
{
    const __m512i t = ek_x16_spread(x);
    EK_UNROLLED_FOR(32, int32_t o = 0; o < blocks; o++)
        acc[o] = ek_x16_dot(acc[o], t, w[o]);
}

/* What sixteen sums are multiplied by and shifted, as the rules want it. */
struct ek_x16_scales {
    __m512i m;
    __m512i m_odd; /* of odd lanes, in even ones */
    __m512i shift;
    __m512i last_shift;
    __m512i half; /* of a unit of the last shift; the offset of a line */
    __mmask16 away; /* where the last shift rounds halves away from zero */
};

/* The scales of outputs from `at` on. */
EK_INLINE struct ek_x16_scales ek_x16_scales(
    const int32_t kind, const int32_t *m, const int8_t *e, const int32_t at)
{
    const __m512i zero = _mm512_setzero_si512(), one = _mm512_set1_epi32(1);
    struct ek_x16_scales s;
    s.m = _mm512_loadu_si512(m + at);
    s.m_odd = zero;
    s.shift = zero;
    s.last_shift = zero;
    s.half = zero;
    s.away = 0;
    if (kind >= 4) {
        s.half = _mm512_loadu_si512(e + 4 * at);
        return s;
    }
    const __m512i exponent =
        kind < 2 ? _mm512_set1_epi32(e[0]) : _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(e + at)));
    const __m512i up = _mm512_max_epi32(exponent, zero), down = _mm512_sub_epi32(up, exponent);
    s.m_odd = _mm512_srli_epi64(s.m, 32);
    s.shift = exponent;
    s.last_shift = exponent;
    if (kind == 0) {
        s.last_shift = _mm512_sub_epi32(exponent, _mm512_set1_epi32(32));
        s.half = _mm512_sllv_epi64(_mm512_set1_epi64(1), _mm512_set1_epi64(e[0] - 1));
    } else if (kind == 3) {
        s.shift = _mm512_add_epi32(up, one);
        s.last_shift = down;
        s.half = _mm512_sllv_epi32(one, _mm512_sub_epi32(down, one));
        s.away = _mm512_test_epi32_mask(down, down);
    }
    return s;
}

/* The same with one multiplier and exponent for all. */
EK_INLINE struct ek_x16_scales ek_x16_scale(const int32_t kind, const int32_t m, const int32_t e)
{
    const __m512i one = _mm512_set1_epi32(1);
    struct ek_x16_scales s;
    s.m = _mm512_set1_epi32(m);
    s.m_odd = s.m;
    s.shift = _mm512_set1_epi32(kind < 3 ? e : e < 0 ? 1 : e + 1);
    s.last_shift = _mm512_set1_epi32(kind < 3 ? e - 32 : e < 0 ? -e : 0);
    s.half = kind == 0 ? _mm512_sllv_epi64(_mm512_set1_epi64(1), _mm512_set1_epi64(e - 1))
                       : _mm512_sllv_epi32(one, _mm512_sub_epi32(s.last_shift, one));
    s.away = _mm512_test_epi32_mask(s.last_shift, s.last_shift);
    return s;
}

/* The upper halves of eight sums of even and eight of odd lanes. */
EK_INLINE __m512i ek_x16_upper(const __m512i even, const __m512i odd)
{
    return _mm512_mask_shuffle_epi32(odd, 0x5555, even, (_MM_PERM_ENUM)0xF5);
}

/* Rule E. */
EK_INLINE __m512i ek_x16_by_e(const __m512i acc, const struct ek_x16_scales *s)
{
    const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(acc, s->m), s->half);
    const __m512i odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(acc, 32), s->m_odd), s->half);
    return _mm512_srav_epi32(ek_x16_upper(even, odd), s->last_shift);
}

/* Rule T: the sum is doubled, so that the product's upper half is what counts. */
EK_INLINE __m512i ek_x16_by_tfl(const __m512i acc, const struct ek_x16_scales *s)
{
    const __m512i a = _mm512_sllv_epi32(acc, s->shift), half = _mm512_set1_epi64((int64_t)1 << 31);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(a, s->m), half);
    const __m512i odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(a, 32), s->m_odd), half);
    const __m512i y = ek_x16_upper(even, odd), rounded = _mm512_add_epi32(y, s->half);
    return _mm512_srav_epi32(
        _mm512_mask_add_epi32(rounded, s->away, rounded, _mm512_srai_epi32(y, 31)), s->last_shift);
}

/* One rounding of a product, as rule E does it or, where `is_away`, halves away from zero; lanes of 64 bits. */
EK_INLINE __m512i ek_x16_rounded(const int32_t is_away, const __m512i product, const __m512i e)
{
    const __m512i shift = is_away ? _mm512_sub_epi64(_mm512_set1_epi64(31), e) : e;
    const __m512i half =
        _mm512_sllv_epi64(_mm512_set1_epi64(1), _mm512_sub_epi64(shift, _mm512_set1_epi64(1)));
    const __m512i sign = is_away ? _mm512_srai_epi64(product, 63) : _mm512_setzero_si512();
    const __m512i y = _mm512_srav_epi64(_mm512_add_epi64(_mm512_add_epi64(product, sign), half), shift);
    const __m512i most = _mm512_set1_epi64((int64_t)1 << 30), least = _mm512_set1_epi64(-((int64_t)1 << 30));
    return _mm512_max_epi64(least, _mm512_min_epi64(most, y));
}

/* Rule E for large ratios, and that of a single rounding. */
EK_INLINE __m512i ek_x16_by_once(const int32_t is_away, const __m512i acc, const struct ek_x16_scales *s)
{
    const __m512i even = ek_x16_rounded(
        is_away, _mm512_mul_epi32(acc, s->m), _mm512_srai_epi64(_mm512_slli_epi64(s->shift, 32), 32));
    const __m512i odd = ek_x16_rounded(
        is_away, _mm512_mul_epi32(_mm512_srli_epi64(acc, 32), s->m_odd), _mm512_srai_epi64(s->shift, 32));
    return _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
}

/* A line. */
EK_INLINE __m512i ek_x16_by_line(const int32_t is_away, const __m512i acc, const struct ek_x16_scales *s)
{
    const __m512i sign = _mm512_set1_epi32(INT32_MIN);
    const __m512i offset = is_away ? _mm512_ternarylogic_epi32(sign, acc, s->half, 0xEA) : s->half;
    return _mm512_cvtps_epi32(
        _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc), _mm512_castsi512_ps(s->m), _mm512_castsi512_ps(offset)));
}

/* The rule of this kind. */
EK_INLINE __m512i ek_x16_requantized(const int32_t kind, const __m512i acc, const struct ek_x16_scales *s)
{
    return kind >= 4   ? ek_x16_by_line(kind == 5, acc, s)
           : kind == 0 ? ek_x16_by_e(acc, s)
           : kind == 3 ? ek_x16_by_tfl(acc, s)
                       : ek_x16_by_once(kind == 2, acc, s);
}

/* clamp(zero + y) of four times 32 results of 16 bits, less than 2^8 apart from int8. */
EK_INLINE __m512i ek_x16_clamped(const __m512i y, const int32_t lo, const int32_t hi)
{
    const __m512i low = lo > -128 ? _mm512_max_epi8(_mm512_set1_epi8((char)lo), y) : y;
    return hi < 127 ? _mm512_min_epi8(_mm512_set1_epi8((char)hi), low) : low;
}

/* clamp(zero + y) of four times sixteen results, four of each behind the other in each quarter. */
EK_INLINE __m512i ek_x16_mixed(const __m512i a, const __m512i b, const __m512i c, const __m512i d,
    const int32_t zero, const int32_t lo, const int32_t hi)
{
    __m512i first = _mm512_packs_epi32(a, b), second = _mm512_packs_epi32(c, d);
    if (zero != 0) {
        first = _mm512_adds_epi16(first, _mm512_set1_epi16((int16_t)zero));
        second = _mm512_adds_epi16(second, _mm512_set1_epi16((int16_t)zero));
    }
    return ek_x16_clamped(_mm512_packs_epi16(first, second), lo, hi);
}

/* The same, one behind the other. */
EK_INLINE __m512i ek_x16_packed(const __m512i a, const __m512i b, const __m512i c, const __m512i d,
    const int32_t zero, const int32_t lo, const int32_t hi)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, ek_x16_mixed(a, b, c, d, zero, lo, hi));
}

/* The first `count` of sixteen lanes. */
EK_INLINE __mmask16 ek_x16_first(const int32_t count)
{
    return (__mmask16)((1 << count) - 1);
}

/* Stores four times sixteen results, those of one half, and `count` of quarter `k`. */
EK_INLINE void ek_x16_store_all(int8_t *y, const __m512i packed)
{
    _mm512_storeu_si512(y, packed);
}
EK_INLINE void ek_x16_store_half(int8_t *y, const __m512i packed, const int32_t k)
{
    _mm256_storeu_si256(
        (__m256i *)(void *)y, k == 0 ? _mm512_castsi512_si256(packed) : _mm512_extracti64x4_epi64(packed, 1));
}
EK_INLINE void ek_x16_store(int8_t *y, const __m512i packed, const int32_t k, const int32_t count)
{
    const __m128i z = k == 0   ? _mm512_castsi512_si128(packed)
                      : k == 1 ? _mm512_extracti32x4_epi32(packed, 1)
                      : k == 2 ? _mm512_extracti32x4_epi32(packed, 2)
                               : _mm512_extracti32x4_epi32(packed, 3);
    if (count == 16)
        _mm_storeu_si128((__m128i *)(void *)y, z);
    else
        _mm_mask_storeu_epi8(y, ek_x16_first(count), z);
}

/* No less than lo and no more than hi. */
EK_INLINE __m512i ek_x16_bounded(const __m512i a, const int32_t lo, const int32_t hi)
{
    return _mm512_min_epi32(_mm512_max_epi32(a, _mm512_set1_epi32(lo)), _mm512_set1_epi32(hi));
}

/* Stores `count` results of 16 bits. */
EK_INLINE void ek_x16_store_s16(int16_t *p, const __m512i y, const int32_t count)
{
    _mm512_mask_cvtsepi32_storeu_epi16(p, ek_x16_first(count), y);
}

/* `size` numbers of x as the instructions want them: 128 more. */
EK_INLINE void ek_x16_copy(const int8_t *x, uint8_t *y, int32_t size)
{
    const __m512i flip = _mm512_set1_epi8(-128);
    for (; size >= 64; size -= 64, x += 64, y += 64)
        _mm512_storeu_si512(y, _mm512_xor_si512(flip, _mm512_loadu_si512(x)));
    for (; size >= 16; size -= 16, x += 16, y += 16) {
        const __m128i part = _mm_loadu_si128((const __m128i *)(const void *)x);
        _mm_storeu_si128((__m128i *)(void *)y, _mm_xor_si128(_mm512_castsi512_si128(flip), part));
    }
    if (size > 0) {
        const __mmask16 lanes = ek_x16_first(size);
        const __m128i part = _mm_maskz_loadu_epi8(lanes, x);
        _mm_mask_storeu_epi8(y, lanes, _mm_xor_si128(_mm512_castsi512_si128(flip), part));
    }
}

/* `count` of 64 results of a window. */
EK_INLINE void ek_x16_store_group(
    int8_t *y, const __m512i *z, const int32_t zero, const int32_t lo, const int32_t hi, const int32_t count)
{
    const __m512i mixed = ek_x16_mixed(z[0], z[1], z[2], z[3], zero, lo, hi);
    if (count == 64)
        _mm512_storeu_si512(y, mixed);
    else
        _mm512_mask_storeu_epi8(y, ~(uint64_t)0 >> (64 - count), mixed);
}

/* Vectors of the sums of a window. */
#define EK_X16_PARTS 4

/* Bytes of a number in the copy. */
#define EK_X16_SIZE 1

#define EK_WIDE(name) ek_x16_##name
#define EK_LANES 16
#define EK_TAPS 4
#define EK_UNPACK(which, a, b) _mm512_unpack##which(a, b)
#define EK_BLOCKS 4
#define EK_PIXELS(blocks) ((blocks) == 1 ? 16 : (blocks) == 2 ? 12 : (blocks) == 3 ? 8 : 6)
#include "edgekit/simd/x86/pixel_rows_s8_x86.h"
#undef EK_WIDE
#undef EK_LANES
#undef EK_TAPS
#undef EK_UNPACK
#undef EK_BLOCKS
#undef EK_PIXELS

#endif
