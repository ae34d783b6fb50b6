/* Sums of products of int8 with NEON of ARMv7: two products in 16 bits (VMULL, VMLAL), which suffice unless both
 * factors are -128, and pairs of those in 32 (VPADAL). Each sum is in four lanes until its end. */
#ifndef EDGEKIT_PAIRS_NEON32_H
#define EDGEKIT_PAIRS_NEON32_H

#include "edgekit/fixed_neon32.h"
#include "edgekit/types.h"

/* sum + the products of sixteen cells. */
EK_INLINE int32x4_t ek_pairs16(int32x4_t sum, int8x16_t x, int8x16_t w)
{
    const int16x8_t first = vmull_s8(vget_low_s8(x), vget_low_s8(w));
    return vpadalq_s16(sum, vmlal_s8(first, vget_high_s8(x), vget_high_s8(w)));
}

/* The four sums of four lanes each. */
EK_INLINE int32x4_t ek_total4(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d)
{
    const int32x2_t p = vadd_s32(vget_low_s32(a), vget_high_s32(a));
    const int32x2_t q = vadd_s32(vget_low_s32(b), vget_high_s32(b));
    const int32x2_t r = vadd_s32(vget_low_s32(c), vget_high_s32(c));
    const int32x2_t s = vadd_s32(vget_low_s32(d), vget_high_s32(d));
    return vcombine_s32(vpadd_s32(p, q), vpadd_s32(r, s));
}

#endif
