/* Sixteen sums at a time by AVX-512 VNNI, whose left factors are unsigned: x is copied, 128 more. The requantization rules
 * of EdgeKit, with a multiplier and an exponent for each sum; sums have at most 30 bits, their sign apart. */
#ifndef EDGEKIT_I32X16_AVX512_H
#define EDGEKIT_I32X16_AVX512_H

#include <immintrin.h>

#include "edgekit/simd/x86/rules_x86.h"

#define EK_X16_LANES 16

typedef __m512i ek_x16_ints;

EK_INLINE __m512i ek_x16_load(const void *p)
{
    return _mm512_loadu_si512(p);
}
EK_INLINE __m512i ek_x16_weights(const int8_t *p)
{
    return _mm512_loadu_si512(p);
}

/* Sixteen int8. */
EK_INLINE __m512i ek_x16_widened(const int8_t *p)
{
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}

typedef __mmask16 ek_x16_lanes;
typedef __m512 ek_x16_reals;

EK_INLINE ek_x16_lanes ek_x16_above_zero(const __m512i a)
{
    return _mm512_cmpgt_epi32_mask(a, _mm512_setzero_si512());
}
/* a, and b more in these lanes. */
EK_INLINE __m512i ek_x16_add_where(const __m512i a, const ek_x16_lanes lanes, const __m512i b)
{
    return _mm512_mask_add_epi32(a, lanes, a, b);
}
/* The bits of a number that is not negative, with the sign of b. */
EK_INLINE __m512i ek_x16_with_sign(const __m512i a, const __m512i b)
{
    return _mm512_ternarylogic_epi32(_mm512_set1_epi32(INT32_MIN), b, a, 0xEA);
}
/* One number in lanes of 64 bits. */
EK_INLINE __m512i ek_x16_same_long(const int64_t x)
{
    return _mm512_set1_epi64(x);
}

/* The upper halves of eight sums of even and eight of odd lanes. */
EK_INLINE __m512i ek_x16_upper(const __m512i even, const __m512i odd)
{
    return _mm512_mask_shuffle_epi32(odd, 0x5555, even, (_MM_PERM_ENUM)0xF5);
}

#define EK_WIDE(name) ek_x16_##name
#define EK_MM(name) _mm512_##name
#include "edgekit/simd/x86/i32_x86.h"
#undef EK_MM

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

/* One number, `count` times. The compiler is not to know that it is one: it would call memset. */
EK_INLINE void ek_x16_fill(const int32_t x, uint8_t *y, int32_t count)
{
    __m512i all = _mm512_set1_epi8((char)(x + 128));
    __asm__("" : "+v"(all));
    for (; count >= 64; count -= 64, y += 64)
        _mm512_storeu_si512(y, all);
    if (count > 0)
        _mm512_mask_storeu_epi8(y, ~(uint64_t)0 >> (64 - count), all);
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

/* Vectors of the sums of a window, and of its weights that registers have room for. */
#define EK_X16_PARTS 4
#define EK_X16_KEPT 12

/* Bytes of a number in the copy, and of those that are multiplied at a time. */
#define EK_X16_SIZE 1
#define EK_X16_STEP 4
/* Vectors of outputs whose weights dense layers have side by side: memory is read in one stream. */
#define EK_X16_ABREAST 4

#define EK_LANES 16
#define EK_TAPS 4
#define EK_UNPACK(which, a, b) _mm512_unpack##which(a, b)
#define EK_ABREAST EK_X16_ABREAST
#define EK_BLOCKS 4
#define EK_PIXELS(blocks) ((blocks) == 1 ? 16 : (blocks) == 2 ? 12 : (blocks) == 3 ? 8 : 6)
#include "edgekit/simd/x86/pixel_rows_s8_x86.h"

#include "edgekit/simd/x86/matrices_s8_x86.h"
#undef EK_WIDE
#undef EK_LANES
#undef EK_TAPS
#undef EK_UNPACK
#undef EK_ABREAST
#undef EK_BLOCKS
#undef EK_PIXELS

#endif
