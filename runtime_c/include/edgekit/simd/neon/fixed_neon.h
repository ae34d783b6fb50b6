/* The rules of fixed.h for four sums at once, and what kernels do before and behind them, with NEON.
 * ek_requantize_<rule>_load reads what the rule needs of the exponents of four channels. */
#ifndef EDGEKIT_FIXED_NEON_H
#define EDGEKIT_FIXED_NEON_H

#include "edgekit/simd/neon/s8_neon.h"

#include <arm_neon.h>
#include <stdint.h>

/* Loads stay behind this: compilers would do so many of them early that registers do not suffice. */
#define EK_KEEP_ORDER __asm__ volatile("" ::: "memory");

/* Four bytes from anywhere, as the lowest of a vector. */
static inline int8x8_t ek_load4_neon(const int8_t *x)
{
    int32_t word;
    __builtin_memcpy(&word, x, 4);
    return vreinterpret_s8_s32(vdup_n_s32(word));
}

/* The same of one to three bytes; zeros behind them. */
static inline int8x8_t ek_load_tail_neon(const int8_t *x, int32_t n)
{
    uint32_t word = (uint8_t)x[0];
    if (n > 1)
        word |= (uint32_t)(uint8_t)x[1] << 8;
    if (n > 2)
        word |= (uint32_t)(uint8_t)x[2] << 16;
    return vreinterpret_s8_u32(vdup_n_u32(word));
}

static inline int32x4_t ek_widen4_neon(const int8_t *e)
{
    return vmovl_s16(vget_low_s16(vmovl_s8(ek_load4_neon(e))));
}

/* Rule E: the doubled product, its upper half, and a rounding shift. */
static inline int32x4_t ek_requantize_e_load(const int8_t *e, int32_t o)
{
    (void)o;
    return vdupq_n_s32(31 - e[0]);
}

static inline int32x4_t ek_requantize_e_x4(int32x4_t acc, int32x4_t m, int32x4_t e)
{
    return vrshlq_s32(vqdmulhq_s32(acc, m), e);
}

static inline int32x4_t ek_requantize_e_same(int32x4_t acc, int32_t m, int32_t e)
{
    return vrshlq_s32(vqdmulhq_n_s32(acc, m), vdupq_n_s32(31 - e));
}

/* Rule E for large ratios: products of 64 bits, and what leaves 32 is saturated. */
static inline int32x4_t ek_requantize_e_wide_load(const int8_t *e, int32_t o)
{
    (void)o;
    return vdupq_n_s32(-e[0]);
}

static inline int32x4_t ek_requantize_e_wide_x4(int32x4_t acc, int32x4_t m, int32x4_t e)
{
    const int64x2_t low =
        vrshlq_s64(vmull_s32(vget_low_s32(acc), vget_low_s32(m)), vmovl_s32(vget_low_s32(e)));
    const int64x2_t high = vrshlq_s64(vmull_high_s32(acc, m), vmovl_high_s32(e));
    return vqmovn_high_s64(vqmovn_s64(low), high);
}

static inline int32x4_t ek_requantize_e_wide_same(int32x4_t acc, int32_t m, int32_t e)
{
    return ek_requantize_e_wide_x4(acc, vdupq_n_s32(m), vdupq_n_s32(-e));
}

/* Rule T: m is not negative, so that SQRDMULH does not saturate. The second rounding takes halves away from zero,
 * but where it does not shift. */
static inline int32x4_t ek_requantize_tfl_load(const int8_t *e, int32_t o)
{
    return ek_widen4_neon(e + o);
}

static inline int32x4_t ek_requantize_tfl_x4(int32x4_t acc, int32x4_t m, int32x4_t e)
{
    const int32x4_t zero = vdupq_n_s32(0);
    const int32x4_t product = vqrdmulhq_s32(vshlq_s32(acc, vmaxq_s32(e, zero)), m);
    return vrshlq_s32(vsraq_n_s32(product, vandq_s32(product, e), 31), vminq_s32(e, zero));
}

/* The same where every exponent is negative. */
static inline int32x4_t ek_requantize_tfl_down_load(const int8_t *e, int32_t o)
{
    return ek_widen4_neon(e + o);
}

static inline int32x4_t ek_requantize_tfl_down_x4(int32x4_t acc, int32x4_t m, int32x4_t e)
{
    const int32x4_t product = vqrdmulhq_s32(acc, m);
    return vrshlq_s32(vsraq_n_s32(product, product, 31), e);
}

/* The same with one multiplier and exponent for all, which the compiler may know. */
static inline int32x4_t ek_requantize_tfl_same(int32x4_t acc, int32_t m, int32_t e)
{
    if (e >= 0)
        return vqrdmulhq_s32(vshlq_s32(acc, vdupq_n_s32(e)), vdupq_n_s32(m));
    const int32x4_t product = vqrdmulhq_s32(acc, vdupq_n_s32(m));
    return vrshlq_s32(vsraq_n_s32(product, product, 31), vdupq_n_s32(e));
}

/* One rounding, halves away from zero. */
static inline int32x4_t ek_requantize_once_load(const int8_t *e, int32_t o)
{
    return vsubq_s32(ek_widen4_neon(e + o), vdupq_n_s32(31));
}

static inline int32x4_t ek_requantize_once_x4(int32x4_t acc, int32x4_t m, int32x4_t e)
{
    const int64x2_t low = vmull_s32(vget_low_s32(acc), vget_low_s32(m)), high = vmull_high_s32(acc, m);
    const int64x2_t y = vrshlq_s64(vsraq_n_s64(low, low, 63), vmovl_s32(vget_low_s32(e)));
    const int64x2_t z = vrshlq_s64(vsraq_n_s64(high, high, 63), vmovl_high_s32(e));
    return vqmovn_high_s64(vqmovn_s64(y), z);
}

/* The sums of the elements of each. */
static inline int32x4_t ek_across_neon(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d)
{
    return vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d));
}

/* Sixteen results as int8: zero is added, and they are clamped. What saturates on the way is outside anyway. */
static inline int8x16_t ek_finish_neon(
    int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d, int32_t zero, int32_t lo, int32_t hi)
{
    const int16x8_t offset = vdupq_n_s16((int16_t)zero);
    const int16x8_t low = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(a), b), offset);
    const int16x8_t high = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(c), d), offset);
    int8x16_t y = vqmovn_high_s16(vqmovn_s16(low), high);
    if (lo > -128)
        y = vmaxq_s8(y, vdupq_n_s8((int8_t)lo));
    if (hi < 127)
        y = vminq_s8(y, vdupq_n_s8((int8_t)hi));
    return y;
}

/* The first n of sixteen bytes. */
static inline void ek_store_neon(int8_t *y, int8x16_t v, int32_t n)
{
    if (n >= 16) {
        vst1q_s8(y, v);
        return;
    }
    if (n & 8) {
        vst1_s8(y, vget_low_s8(v));
        v = vextq_s8(v, v, 8);
        y += 8;
    }
    if (n & 4) {
        const int32_t word = vgetq_lane_s32(vreinterpretq_s32_s8(v), 0);
        __builtin_memcpy(y, &word, 4);
        v = vextq_s8(v, v, 4);
        y += 4;
    }
    if (n & 2) {
        const int16_t half = vgetq_lane_s16(vreinterpretq_s16_s8(v), 0);
        __builtin_memcpy(y, &half, 2);
        v = vextq_s8(v, v, 2);
        y += 2;
    }
    if (n & 1)
        y[0] = vgetq_lane_s8(v, 0);
}

/* The first n of sixteen results, of one byte or two: zero is added, and they are clamped. */
static inline void ek_store_numbers_neon(
    void *y, const int32x4_t *v, int32_t n, int32_t zero, int32_t lo, int32_t hi, int32_t bytes)
{
    if (bytes == 1) {
        ek_store_neon((int8_t *)y, ek_finish_neon(v[0], v[1], v[2], v[3], zero, lo, hi), n);
        return;
    }
    int16_t *to = (int16_t *)y;
    for (int32_t k = 0; n > 0; k++, n -= 4, to += 4) {
        const int32x4_t wide = vqaddq_s32(v[k], vdupq_n_s32(zero));
        const int16x4_t z = vmovn_s32(vminq_s32(vmaxq_s32(wide, vdupq_n_s32(lo)), vdupq_n_s32(hi)));
        if (n >= 4)
            vst1_s16(to, z);
        else {
            to[0] = vget_lane_s16(z, 0);
            if (n > 1)
                to[1] = vget_lane_s16(z, 1);
            if (n > 2)
                to[2] = vget_lane_s16(z, 2);
        }
    }
}

#endif
