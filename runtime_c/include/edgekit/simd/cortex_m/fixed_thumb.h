/* The requantization rules for processors without 64-bit shifts, for sums of 30 bits: one product of 64 bits, of whose high word
 * ((z >> t - 1) + 1) >> 1 is the nearest to z / 2^t. `e` is packed as -e - 1, so that of rule E is -shift - 1.
 *
 * Cortex-M0+ has no 64-bit product either, and the compiler's runtime library takes about 40 instructions for one: there the high
 * word comes from four 16-bit partial products. */
#ifndef EDGEKIT_FIXED_THUMB_H
#define EDGEKIT_FIXED_THUMB_H

#include "edgekit/math/fixed.h"

#if __ARM_ARCH_ISA_THUMB == 1
/* acc m >> bits, for -2^30 < acc < 2^30, 0 <= m, 30 <= bits <= 32: the lower half of acc has a sign, so that the sum in the middle
 * stays in 32 bits. */
static inline int32_t ek_product_above(int32_t acc, int32_t m, const int bits)
{
    const int32_t low = (int16_t)acc, high = (acc - low) >> 16, m_low = m & 0xffff, m_high = m >> 16;
    const int32_t middle = low * m_high + high * m_low + ((low * m_low) >> 16);
    return high * m_high * (1 << (32 - bits)) + (middle >> (bits - 16));
}
#else
static inline int32_t ek_product_above(int32_t acc, int32_t m, const int bits)
{
    return (int32_t)(((int64_t)acc * m) >> bits);
}
#endif

/* One shift for all outputs: the low word never matters. */
static inline int32_t ek_requantize_e_one(int32_t acc, int32_t m, const int8_t *e, int32_t o)
{
    (void)o;
    return ((ek_product_above(acc, m, 32) >> (-e[0] - 34)) + 1) >> 1;
}

/* (acc m + 2^30) >> 31 */
static inline int32_t ek_rounded_product(int32_t acc, int32_t m)
{
#if __ARM_ARCH_ISA_THUMB == 1
    return (ek_product_above(acc, m, 30) + 1) >> 1;
#else
    const int64_t product = (int64_t)(2 * acc) * m;
    return (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
#endif
}

static inline int32_t ek_requantize_tfl_one(int32_t acc, int32_t m, const int8_t *e, int32_t o)
{
    const int32_t z = ek_rounded_product(acc, m);
    return (((z + (z >> 31)) >> e[o]) + 1) >> 1;
}

static inline int32_t ek_requantize_tfl_up_one(int32_t acc, int32_t m, const int8_t *e, int32_t o)
{
    return ((ek_rounded_product(acc, m) >> e[o]) + 1) >> 1;
}

static inline int32_t ek_requantize_once_one(int32_t acc, int32_t m, const int8_t *e, int32_t o)
{
    return ek_requantize_once(acc, m, -e[o] - 1);
}

/* y, not below lo and not above hi: without branches, for y of 31 bits. */
static inline int32_t ek_between(int32_t y, int32_t lo, int32_t hi)
{
    int32_t above = y - lo;
    __asm("" : "+r"(above)); /* else compilers see a comparison, and branch */
    const int32_t room = hi - lo - (above & ~(above >> 31));
    return hi - (room & ~(room >> 31));
}

/* The same as int8. */
static inline int8_t ek_between_s8(int32_t y, int32_t lo, int32_t hi)
{
    return (int8_t)ek_between(y, lo, hi);
}

#endif
