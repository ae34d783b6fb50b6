/* Integer arithmetic that C leaves undefined, defined as numpy has it: it wraps, and what is divided by 0 is 0. */
#ifndef EDGEKIT_INTEGER_H
#define EDGEKIT_INTEGER_H

#include <stdint.h>

/* Quotient, rounded towards zero; remainder with the sign of a; remainder with the sign of b. */
static inline int32_t ek_div_s32(int32_t a, int32_t b)
{
    if (b == 0 || b == -1)
        return b ? (int32_t)(0u - (uint32_t)a) : 0;
    return a / b;
}

static inline int32_t ek_rem_s32(int32_t a, int32_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

static inline int32_t ek_mod_s32(int32_t a, int32_t b)
{
    const int32_t r = ek_rem_s32(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static inline uint32_t ek_div_u32(uint32_t a, uint32_t b)
{
    return b ? a / b : 0;
}

static inline uint32_t ek_rem_u32(uint32_t a, uint32_t b)
{
    return b ? a % b : 0;
}

static inline uint32_t ek_mod_u32(uint32_t a, uint32_t b)
{
    return ek_rem_u32(a, b);
}

static inline int64_t ek_div_s64(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return b ? (int64_t)((uint64_t)0 - (uint64_t)a) : 0;
    return a / b;
}

static inline int64_t ek_rem_s64(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

static inline int64_t ek_mod_s64(int64_t a, int64_t b)
{
    const int64_t r = ek_rem_s64(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static inline uint64_t ek_div_u64(uint64_t a, uint64_t b)
{
    return b ? a / b : 0;
}

static inline uint64_t ek_rem_u64(uint64_t a, uint64_t b)
{
    return b ? a % b : 0;
}

static inline uint64_t ek_mod_u64(uint64_t a, uint64_t b)
{
    return ek_rem_u64(a, b);
}

/* a to the power of b; a negative power of one is its reciprocal, rounded towards zero. */
static inline uint32_t ek_pow_u32(uint32_t a, uint32_t b)
{
    uint32_t y = 1;
    for (; b; b >>= 1, a *= a)
        y *= b & 1u ? a : 1u;
    return y;
}

static inline int32_t ek_pow_s32(int32_t a, int32_t b)
{
    if (b < 0)
        return a == 1 || a == -1 ? (b & 1 ? a : 1) : 0;
    return (int32_t)ek_pow_u32((uint32_t)a, (uint32_t)b);
}

static inline uint64_t ek_pow_u64(uint64_t a, uint64_t b)
{
    uint64_t y = 1;
    for (; b; b >>= 1, a *= a)
        y *= b & 1u ? a : 1u;
    return y;
}

static inline int64_t ek_pow_s64(int64_t a, int64_t b)
{
    if (b < 0)
        return a == 1 || a == -1 ? (b & 1 ? a : 1) : 0;
    return (int64_t)ek_pow_u64((uint64_t)a, (uint64_t)b);
}

/* Shifts; all bits are gone, or copies of the sign, where b is negative or as large as the type has bits. */
static inline int32_t ek_shl_s32(int32_t a, int32_t b)
{
    return b < 0 || b >= 32 ? 0 : (int32_t)((uint32_t)a << b);
}

static inline uint32_t ek_shl_u32(uint32_t a, uint32_t b)
{
    return b >= 32 ? 0 : a << b;
}

static inline int32_t ek_shr_s32(int32_t a, int32_t b)
{
    const int32_t by = b < 0 || b >= 32 ? 31 : b;
    return a < 0 ? ~(~a >> by) : a >> by;
}

static inline uint32_t ek_shr_u32(uint32_t a, uint32_t b)
{
    return b >= 32 ? 0 : a >> b;
}

static inline int64_t ek_shl_s64(int64_t a, int64_t b)
{
    return b < 0 || b >= 64 ? 0 : (int64_t)((uint64_t)a << b);
}

static inline uint64_t ek_shl_u64(uint64_t a, uint64_t b)
{
    return b >= 64 ? 0 : a << b;
}

static inline int64_t ek_shr_s64(int64_t a, int64_t b)
{
    const int64_t by = b < 0 || b >= 64 ? 63 : b;
    return a < 0 ? ~(~a >> by) : a >> by;
}

static inline uint64_t ek_shr_u64(uint64_t a, uint64_t b)
{
    return b >= 64 ? 0 : a >> b;
}

/* The square root, rounded; at most 65535 for a below 2^32, and 2^32 - 1 for others. */
static inline uint32_t ek_rounded_sqrt_u64(uint64_t a)
{
    const uint32_t most = a >> 32 ? UINT32_MAX : UINT16_MAX;
    uint64_t root = 0, bit = (uint64_t)1 << 62;
    while (bit > a)
        bit >>= 2;
    for (; bit; bit >>= 2) { /* a is what is left over the square of the bits found */
        const uint64_t least = root + bit;
        root >>= 1;
        if (a >= least) {
            a -= least;
            root += bit;
        }
    }
    return (uint32_t)root + (a > root && root < most ? 1u : 0u);
}

#endif
