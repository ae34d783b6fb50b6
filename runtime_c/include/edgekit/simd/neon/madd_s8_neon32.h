/* Sums of products of int8 with NEON of ARMv7: two products in 16 bits (VMULL, VMLAL), which suffice unless both
 * factors are -128, and pairs of those in 32 (VPADAL). Each sum is in four lanes until its end. */
#ifndef EDGEKIT_MADD_S8_NEON32_H
#define EDGEKIT_MADD_S8_NEON32_H

#include "edgekit/simd/neon/fixed_neon32.h"
#include "edgekit/types.h"

/* What is read by this pointer stays behind the computation of these vectors: compilers would load and multiply so
 * much early that registers do not suffice. */
#define EK_READ_BEHIND(pointer, a, b) __asm__("" : "+r"(pointer) : "w"(a), "w"(b));

/* sum + the products of sixteen cells. */
EK_INLINE int32x4_t ek_pairs16(int32x4_t sum, int8x16_t x, int8x16_t w)
{
    const int16x8_t first = vmull_s8(vget_low_s8(x), vget_low_s8(w));
    return vpadalq_s16(sum, vmlal_s8(first, vget_high_s8(x), vget_high_s8(w)));
}

/* The same of eight cells. */
EK_INLINE int32x4_t ek_pairs8(int32x4_t sum, int8x8_t x, int8x8_t w)
{
    return vpadalq_s16(sum, vmull_s8(x, w));
}

/* What cells u of one pixel, and v of another, add to the sums s and t of an output, whose weights are next. Spelled
 * out for each output: compilers keep arrays of sums in memory. */
#define EK_PAIRS16(s, t)                                                                                     \
    {                                                                                                        \
        const int8x16_t weights = vld1q_s8(w);                                                               \
        w += 16;                                                                                             \
        s = ek_pairs16(s, u, weights);                                                                       \
        if (pixels > 1)                                                                                      \
            t = ek_pairs16(t, v, weights);                                                                   \
        EK_READ_BEHIND(w, s, t)                                                                              \
    }

/* The same for two outputs, s and t, of one pixel. */
#define EK_PAIRS16_OF_TWO(s, t)                                                                              \
    {                                                                                                        \
        const int8x16_t first = vld1q_s8(w), second = vld1q_s8(w + 16);                                      \
        w += 32;                                                                                             \
        s = ek_pairs16(s, u, first);                                                                         \
        t = ek_pairs16(t, u, second);                                                                        \
        EK_READ_BEHIND(w, s, t)                                                                              \
    }

#define EK_PAIRS8(s, t)                                                                                      \
    {                                                                                                        \
        const int8x8_t weights = vld1_s8(w);                                                                 \
        w += 16;                                                                                             \
        s = ek_pairs8(s, u, weights);                                                                        \
        if (pixels > 1)                                                                                      \
            t = ek_pairs8(t, v, weights);                                                                    \
    }

#endif
