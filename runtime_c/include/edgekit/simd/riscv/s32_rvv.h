/* Vectors of int32 for RISC-V: the vocabulary of elementwise kernels and of pooling, which all instruction sets define:
 * s32_<set>.h. They are the compiler's own vectors of eight numbers, two registers of the shortest length that the extension
 * allows: those have a size, as vectors of RISC-V's intrinsics have not, and longer registers hold them, too. */
#ifndef EDGEKIT_S32_RVV_H
#define EDGEKIT_S32_RVV_H

#include <stddef.h>

#include "edgekit/simd/riscv/rules_rvv.h"
#include "edgekit/types.h"

#define EK_VI_LANES 8
#define EK_VI_SHARED EK_INLINE

typedef int32_t __attribute__((vector_size(32))) ek_vi;
typedef int64_t __attribute__((vector_size(64))) ek_vi_wide;
typedef float __attribute__((vector_size(32))) ek_vi_real;
typedef int16_t __attribute__((vector_size(16))) ek_vi_s16;
typedef int8_t __attribute__((vector_size(8))) ek_vi_s8;

#ifdef __clang__
#define EK_VI_MIN(a, b) __builtin_elementwise_min(a, b)
#define EK_VI_MAX(a, b) __builtin_elementwise_max(a, b)
#else
#define EK_VI_MIN(a, b) ((a) < (b) ? (a) : (b))
#define EK_VI_MAX(a, b) ((a) < (b) ? (b) : (a))
#endif

EK_INLINE ek_vi ek_vi_same(const int32_t x)
{
    const ek_vi y = {x, x, x, x, x, x, x, x};
    return y;
}
EK_INLINE ek_vi_real ek_vi_same_real(const float x)
{
    const ek_vi_real y = {x, x, x, x, x, x, x, x};
    return y;
}
EK_INLINE ek_vi ek_vi_add(const ek_vi a, const ek_vi b)
{
    return a + b;
}
EK_INLINE ek_vi ek_vi_mul(const ek_vi a, const ek_vi b)
{
    return a * b;
}
/* a >> n */
EK_INLINE ek_vi ek_vi_shifted(const ek_vi a, const int32_t n)
{
    return a >> n;
}

/* A factor for all lanes. */
EK_INLINE ek_vi ek_s32_factor(const int32_t x)
{
    return ek_vi_same(x);
}

/* Vectors of int32, of int16 and of int8. */
EK_INLINE ek_vi ek_vi_load(const int32_t *x)
{
    ek_vi y;
    __builtin_memcpy(&y, x, sizeof y);
    return y;
}
EK_INLINE ek_vi ek_vi_load_s16(const int16_t *x)
{
    ek_vi_s16 y;
    __builtin_memcpy(&y, x, sizeof y);
    return __builtin_convertvector(y, ek_vi);
}

/* `below` in the lanes where a is less than 0, else `other`. */
EK_INLINE ek_vi ek_vi_by_sign(const ek_vi a, const ek_vi below, const ek_vi other)
{
    return other ^ ((below ^ other) & (a >> 31));
}
/* Four of them that lie side by side, less their zero point. */
EK_INLINE void ek_vi_load_s8(ek_vi *z, const int8_t *x, const int32_t zero)
{
    EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++) {
        ek_vi_s8 y;
        __builtin_memcpy(&y, x + k * EK_VI_LANES, sizeof y);
        z[k] = __builtin_convertvector(y, ek_vi) - zero;
    }
}

/* The sum of its numbers. */
EK_INLINE int32_t ek_vi_total(const ek_vi x)
{
    return x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7];
}

/* clamp(zero + z) of `count` vectors as int8: bounds move, so that nothing overflows. */
EK_INLINE void ek_vi_store_some_s8(
    int8_t *y, const ek_vi *z, const int32_t count, const int32_t zero, const int32_t lo, const int32_t hi)
{
    EK_UNROLLED_FOR(4, int32_t k = 0; k < count; k++) {
        const ek_vi low = EK_VI_MAX(z[k], ek_vi_same(lo - zero));
        const ek_vi within = EK_VI_MIN(low, ek_vi_same(hi - zero)) + zero;
        const ek_vi_s8 bytes = __builtin_convertvector(within, ek_vi_s8);
        __builtin_memcpy(y + k * EK_VI_LANES, &bytes, sizeof bytes);
    }
}
/* Of four vectors, and of sixteen numbers. */
EK_INLINE void ek_vi_store_s8(
    int8_t *y, const ek_vi *z, const int32_t zero, const int32_t lo, const int32_t hi)
{
    ek_vi_store_some_s8(y, z, 4, zero, lo, hi);
}
EK_INLINE void ek_vi_store16_s8(
    int8_t *y, const ek_vi *z, const int32_t zero, const int32_t lo, const int32_t hi)
{
    ek_vi_store_some_s8(y, z, 2, zero, lo, hi);
}

/* The first n of these. */
EK_INLINE void ek_vi_copy_s8(int8_t *y, const int8_t *x, const int32_t n)
{
    ek_copy_rvv(y, x, n);
}

/* Products of 64 bits. */
EK_INLINE ek_vi_wide ek_vi_products(const ek_vi a, const int32_t m)
{
    return __builtin_convertvector(a, ek_vi_wide) * (int64_t)m;
}

/* The rules with one multiplier and exponent for all. */
EK_INLINE ek_vi ek_requantize_e_same(const ek_vi acc, const int32_t m, const int32_t e)
{
    const ek_vi high = __builtin_convertvector(ek_vi_products(acc, m) >> 32, ek_vi);
    return e == 32 ? high : (high + (int32_t)(1u << (e - 33))) >> (e - 32);
}
EK_INLINE ek_vi ek_requantize_e_wide_same(const ek_vi acc, const int32_t m, const int32_t e)
{
    const ek_vi_wide y = (ek_vi_products(acc, m) + ((int64_t)1 << (e - 1))) >> e;
    const ek_vi_wide least = {
        -(1 << 30), -(1 << 30), -(1 << 30), -(1 << 30), -(1 << 30), -(1 << 30), -(1 << 30), -(1 << 30)};
    return __builtin_convertvector(EK_VI_MIN(EK_VI_MAX(y, least), -least), ek_vi);
}
EK_INLINE ek_vi ek_requantize_tfl_same(const ek_vi acc, const int32_t m, const int32_t e)
{
    const int32_t up = e < 0 ? 0 : e, down = e < 0 ? -e : 0;
    const ek_vi_wide product = (ek_vi_products(acc << up, m) + (1 << 30)) >> 31;
    const ek_vi y = __builtin_convertvector(product, ek_vi);
    return down == 0 ? y : (y + (y >> 31) + (int32_t)(1u << (down - 1))) >> down;
}

/* Sixteen sums of at most 256 int8, and what they add to sums of 32 bits. */
typedef struct {
    ek_vi_s16 val[2];
} ek_v16;

EK_INLINE ek_v16 ek_v16_none(void)
{
    const ek_v16 y = {{{0}, {0}}};
    return y;
}
EK_INLINE ek_v16 ek_v16_add_s8(ek_v16 y, const int8_t *x)
{
    EK_UNROLLED_FOR(2, int32_t k = 0; k < 2; k++) {
        ek_vi_s8 v;
        __builtin_memcpy(&v, x + k * EK_VI_LANES, sizeof v);
        y.val[k] += __builtin_convertvector(v, ek_vi_s16);
    }
    return y;
}
EK_INLINE void ek_vi_add_v16(ek_vi *sum, const ek_v16 x)
{
    EK_UNROLLED_FOR(2, int32_t k = 0; k < 2; k++)
        sum[k] += __builtin_convertvector(x.val[k], ek_vi);
}

/* Integers near reals below 2^22, halves to the even one: behind this sum they are the lowest bits. No conversion that
 * truncates, as QEMU up to 7.2 ends at one. */
#define EK_VI_ROUNDED(v) ((ek_vi)((v) + 12582912.0f) - 0x4b400000)

/* The whole part of (x + half) * factor, half having the sign of x. */
EK_INLINE ek_vi ek_vi_scaled(const ek_vi x, const float half, const float factor)
{
    const ek_vi sign = x >> 31, size = (x ^ sign) - sign;
    const ek_vi_real v = (__builtin_convertvector(size, ek_vi_real) + half) * factor;
    const ek_vi rounded = EK_VI_ROUNDED(v);
    const ek_vi whole = rounded + (__builtin_convertvector(rounded, ek_vi_real) > v);
    return (whole ^ sign) - sign;
}

/* x / scale of eight reals, as far as it matters for int8; of what is no number: `other`. */
EK_INLINE ek_vi_real ek_vi_quotients(const float *x, const float scale, const float other)
{
    ek_vi_real v;
    __builtin_memcpy(&v, x, sizeof v);
    v /= scale;
    const ek_vi is_number = v == v;
    v = (ek_vi_real)(((ek_vi)v & is_number) | ((ek_vi)ek_vi_same_real(other) & ~is_number));
    return EK_VI_MIN(EK_VI_MAX(v, ek_vi_same_real(-65536.0f)), ek_vi_same_real(65536.0f));
}

/* These as the nearest integers, halves to the even one or away from zero: where what is left is a half, towards zero. */
EK_INLINE ek_vi ek_even_vi(const float *x, const float scale, const float other)
{
    return EK_VI_ROUNDED(ek_vi_quotients(x, scale, other));
}
EK_INLINE ek_vi ek_away_vi(const float *x, const float scale, const float other)
{
    const ek_vi_real v = ek_vi_quotients(x, scale, other);
    const ek_vi even = EK_VI_ROUNDED(v);
    const ek_vi_real left = v - __builtin_convertvector(even, ek_vi_real);
    return even - ((left == 0.5f) & (v > 0.0f)) + ((left == -0.5f) & (v < 0.0f));
}

#endif
