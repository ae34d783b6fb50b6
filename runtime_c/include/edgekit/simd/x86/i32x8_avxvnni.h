/* Eight sums at a time by AVX-VNNI, whose left factors are unsigned: x is copied, 128 more. All else is as in i32x8_avx2.h.
 */
#ifndef EDGEKIT_I32X8_AVXVNNI_H
#define EDGEKIT_I32X8_AVXVNNI_H

#include "edgekit/simd/x86/i32x8_avx2.h"

#define ek_x8v_ints ek_x8_ints
#define ek_x8v_load ek_x8_load
#define ek_x8v_weights ek_x8_load
#define ek_x8v_spread ek_x8_spread
#define ek_x8v_same ek_x8_same
#define ek_x8v_add ek_x8_add
#define ek_x8v_times ek_x8_times
#define ek_x8v_scales ek_x8_scales
#define ek_x8v_requantized ek_x8_requantized
#define ek_x8v_packed ek_x8_packed
#define ek_x8v_store_all ek_x8_store_all
#define ek_x8v_store_half ek_x8_store_half
#define ek_x8v_store ek_x8_store
#define ek_x8v_store_s16 ek_x8_store_s16
#define ek_x8v_bounded ek_x8_bounded
#define EK_X8V_LANES 8

/* acc + products of four unsigned bytes of a and four signed ones of b, in each lane. Not the intrinsic: gcc 12 stores
 * arrays of its results to memory at every step. */
EK_INLINE __m256i ek_x8v_dot(__m256i acc, const __m256i a, const __m256i b)
{
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(a), "x"(b));
    return acc;
}

/* The same for four bytes of x and one or two vectors of weights. */
EK_PART void ek_x8v_dots(__m256i *acc, const uint8_t *x, const __m256i *w, const int32_t blocks)
{
    const ek_four_x86 *const from = (const ek_four_x86 *)(const void *)x;
    __m256i t;
    if (blocks == 1)
        __asm__("vpbroadcastd %2, %1\n\t%{vex%} vpdpbusd %3, %1, %0"
            : "+x"(acc[0]), "=&x"(t)
            : "m"(*from), "x"(w[0]));
    else
        __asm__("vpbroadcastd %3, %2\n\t%{vex%} vpdpbusd %4, %2, %0\n\t%{vex%} vpdpbusd %5, %2, %1"
            : "+x"(acc[0]), "+x"(acc[1]), "=&x"(t)
            : "m"(*from), "x"(w[0]), "x"(w[1]));
}

/* `count` of 32 results of a window. */
EK_INLINE void ek_x8v_store_group(
    int8_t *y, const __m256i *z, const int32_t zero, const int32_t lo, const int32_t hi, const int32_t count)
{
    const __m256i mixed = ek_x8_mixed(z[0], z[1], z[2], z[3], zero, lo, hi);
    if (count == 32)
        ek_x8_store_all(y, mixed);
    else
        EK_UNROLLED_FOR(32, int32_t k = 0; k < 4; k++)
            if (count > 8 * k)
                ek_x8_store(y + 8 * k, mixed, k, count < 8 * k + 8 ? count - 8 * k : 8);
}

/* Vectors of the sums of a window, and of its weights that registers have room for. */
#define EK_X8V_PARTS 4
#define EK_X8V_KEPT 1

/* `size` numbers of x as the instructions want them: 128 more. */
EK_INLINE void ek_x8v_copy(const int8_t *x, uint8_t *y, int32_t size)
{
    const __m256i flip = _mm256_set1_epi8(-128);
    for (; size >= 32; size -= 32, x += 32, y += 32)
        _mm256_storeu_si256((__m256i *)(void *)y, _mm256_xor_si256(flip, ek_x8_load(x)));
    for (; size >= 8; size -= 8, x += 8, y += 8) {
        const __m128i part = _mm_loadl_epi64((const __m128i *)(const void *)x);
        _mm_storel_epi64((__m128i *)(void *)y, _mm_xor_si128(_mm256_castsi256_si128(flip), part));
    }
    for (; size > 0; size--, x++, y++)
        *y = (uint8_t)(*x + 128);
}

/* One number, `count` times. The compiler is not to know that it is one: it would call memset. */
EK_INLINE void ek_x8v_fill(const int32_t x, uint8_t *y, int32_t count)
{
    __m256i all = _mm256_set1_epi8((char)(x + 128));
    __asm__("" : "+x"(all));
    for (; count >= 32; count -= 32, y += 32)
        _mm256_storeu_si256((__m256i *)(void *)y, all);
    for (; count > 0; count--, y++)
        *y = (uint8_t)(x + 128);
}

/* Bytes of a number in the copy, and of those that are multiplied at a time. */
#define EK_X8V_SIZE 1
#define EK_X8V_STEP 4
/* Vectors of outputs whose weights dense layers have side by side. */
#define EK_X8V_ABREAST 1

#define EK_WIDE(name) ek_x8v_##name
#define EK_LANES 8
#define EK_TAPS 4
#define EK_UNPACK(which, a, b) _mm256_unpack##which(a, b)
#define EK_ABREAST EK_X8V_ABREAST
#define EK_BLOCKS 2
#define EK_PIXELS(blocks) ((blocks) == 1 ? 12 : 6)
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
