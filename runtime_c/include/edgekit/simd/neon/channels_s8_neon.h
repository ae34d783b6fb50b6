/* Eight channels of int8 at a time (ek_c8_), or sixteen (ek_c16_), for depthwise convolutions with NEON of either width. Two
 * products are added in 16 bits, which suffice unless all four factors are -128. */
#ifndef EDGEKIT_CHANNELS_S8_NEON_H
#define EDGEKIT_CHANNELS_S8_NEON_H

#include "edgekit/simd/neon/s32_neon.h"

/* Vectors of four sums. */
#define EK_C8_PARTS 2
#define EK_C16_PARTS 4

/* Windows: of any sides, or of three by three taps, whose weights stay in registers for a row of pixels, and for which pixels
 * at borders have code of their own. */
#define EK_ANY_SIDE(side) (side)
#define EK_ANY_TAPS 0
#define EK_ANY_BORDERS 0
#define EK_THREE_SIDE(side) 3
#define EK_THREE_TAPS 9
#define EK_THREE_BORDERS 1

/* How many rows and columns of a window are unrolled: all of almost any, or fewer where code is to be small. */
#if EK_IS_COMPACT
#define EK_TAP_TURNS 4
#else
#define EK_TAP_TURNS 8
#endif

/* Products that are added in 16 bits. */
#define EK_TWO_PRODUCTS 2
#define EK_ONE_PRODUCTS 1

typedef int8x8_t ek_c8_cells;
typedef int32x4x2_t ek_c8_sums;
typedef int8x16_t ek_c16_cells;
typedef int32x4x4_t ek_c16_sums;

/* The cells of the first `n` channels. */
EK_INLINE ek_c8_cells ek_c8_load(const int8_t *x, const int32_t n)
{
    int8_t some[8] = {0};
    if (n == 8)
        return vld1_s8(x);
    ek_copy_neon(some, x, n);
    return vld1_s8(some);
}
EK_INLINE ek_c16_cells ek_c16_load(const int8_t *x, const int32_t n)
{
    int8_t some[16] = {0};
    if (n == 16)
        return vld1q_s8(x);
    if (n == 8)
        return vcombine_s8(vld1_s8(x), vdup_n_s8(0));
    ek_copy_neon(some, x, n);
    return vld1q_s8(some);
}

/* The first cell times its weights, and the second one besides, if there are two. */
EK_INLINE int16x8_t ek_c8_products(
    const int8x8_t x, const int8x8_t second, const int8x8_t v, const int8x8_t w, const int32_t taps)
{
    const int16x8_t one = vmull_s8(x, v);
    return taps > 1 ? vmlal_s8(one, second, w) : one;
}

/* What one tap of a window or two add. */
EK_INLINE ek_c8_sums ek_c8_add(ek_c8_sums sums, const ek_c8_cells x, const ek_c8_cells second,
    const ek_c8_cells v, const ek_c8_cells w, const int32_t taps)
{
    const int16x8_t pairs = ek_c8_products(x, second, v, w, taps);
    sums.val[0] = vaddw_s16(sums.val[0], vget_low_s16(pairs));
    sums.val[1] = vaddw_s16(sums.val[1], vget_high_s16(pairs));
    return sums;
}
EK_INLINE ek_c16_sums ek_c16_add(ek_c16_sums sums, const ek_c16_cells x, const ek_c16_cells second,
    const ek_c16_cells v, const ek_c16_cells w, const int32_t taps)
{
    const int16x8_t low =
        ek_c8_products(vget_low_s8(x), vget_low_s8(second), vget_low_s8(v), vget_low_s8(w), taps);
    const int16x8_t high =
        ek_c8_products(vget_high_s8(x), vget_high_s8(second), vget_high_s8(v), vget_high_s8(w), taps);
    sums.val[0] = vaddw_s16(sums.val[0], vget_low_s16(low));
    sums.val[1] = vaddw_s16(sums.val[1], vget_high_s16(low));
    sums.val[2] = vaddw_s16(sums.val[2], vget_low_s16(high));
    sums.val[3] = vaddw_s16(sums.val[3], vget_high_s16(high));
    return sums;
}

/* The first `n` results. */
EK_INLINE void ek_c8_finish(
    int8_t *y, const ek_c8_sums z, const int32_t zero, const int32_t lo, const int32_t hi, const int32_t n)
{
    const int8x16_t twice = ek_finish_neon(z.val[0], z.val[1], z.val[0], z.val[1], zero, lo, hi);
    if (n == 8)
        vst1_s8(y, vget_low_s8(twice));
    else
        ek_store_neon(y, twice, n);
}
EK_INLINE void ek_c16_finish(
    int8_t *y, const ek_c16_sums z, const int32_t zero, const int32_t lo, const int32_t hi, const int32_t n)
{
    ek_store_neon(y, ek_finish_neon(z.val[0], z.val[1], z.val[2], z.val[3], zero, lo, hi), n);
}

#endif
