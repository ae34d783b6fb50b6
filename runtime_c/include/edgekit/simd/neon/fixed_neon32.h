/* The rules of fixed.h for four sums at once, and what kernels do before and behind them, with NEON of ARMv7.
 * ek_requantize_<rule>_load reads what the rule needs of the exponents of four channels. Names are those of
 * fixed_neon.h, so that kernels can be shared. */
#ifndef EDGEKIT_FIXED_NEON32_H
#define EDGEKIT_FIXED_NEON32_H

#include "edgekit/simd/neon/s8_neon.h"

#include <arm_neon.h>
#include <stdint.h>

/* Four exponents, as numbers of 32 bits. */
static inline int32x4_t ek_widen4_neon(const int8_t *e)
{
    int32_t word;
    __builtin_memcpy(&word, e, 4);
    return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(word)))));
}

/* Two vectors of sums as one of 16 bits, saturated. */
static inline int16x8_t ek_narrow_neon(int32x4_t a, int32x4_t b)
{
    return vcombine_s16(vqmovn_s32(a), vqmovn_s32(b));
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
    const int64x2_t low = vmull_s32(vget_low_s32(acc), vget_low_s32(m));
    const int64x2_t high = vmull_s32(vget_high_s32(acc), vget_high_s32(m));
    const int32x2_t y = vqmovn_s64(vrshlq_s64(low, vmovl_s32(vget_low_s32(e))));
    return vcombine_s32(y, vqmovn_s64(vrshlq_s64(high, vmovl_s32(vget_high_s32(e)))));
}

static inline int32x4_t ek_requantize_e_wide_same(int32x4_t acc, int32_t m, int32_t e)
{
    return ek_requantize_e_wide_x4(acc, vdupq_n_s32(m), vdupq_n_s32(-e));
}

/* Rule T: m is not negative, so that VQRDMULH does not saturate. The second rounding takes halves away from zero,
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
    const int64x2_t low = vmull_s32(vget_low_s32(acc), vget_low_s32(m));
    const int64x2_t high = vmull_s32(vget_high_s32(acc), vget_high_s32(m));
    const int64x2_t y = vrshlq_s64(vsraq_n_s64(low, low, 63), vmovl_s32(vget_low_s32(e)));
    const int64x2_t z = vrshlq_s64(vsraq_n_s64(high, high, 63), vmovl_s32(vget_high_s32(e)));
    return vcombine_s32(vqmovn_s64(y), vqmovn_s64(z));
}

/* The sums of the elements of each. */
static inline int32x4_t ek_across_neon(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d)
{
    const int32x2_t u = vadd_s32(vget_low_s32(a), vget_high_s32(a)),
                    v = vadd_s32(vget_low_s32(b), vget_high_s32(b));
    const int32x2_t w = vadd_s32(vget_low_s32(c), vget_high_s32(c)),
                    x = vadd_s32(vget_low_s32(d), vget_high_s32(d));
    return vcombine_s32(vpadd_s32(u, v), vpadd_s32(w, x));
}

/* Eight results as int8: zero is added, and they are clamped. What saturates on the way is outside anyway. */
static inline int8x8_t ek_finish8_neon(int32x4_t a, int32x4_t b, int32_t zero, int32_t lo, int32_t hi)
{
    int8x8_t y = vqmovn_s16(vqaddq_s16(ek_narrow_neon(a, b), vdupq_n_s16((int16_t)zero)));
    if (lo > -128)
        y = vmax_s8(y, vdup_n_s8((int8_t)lo));
    if (hi < 127)
        y = vmin_s8(y, vdup_n_s8((int8_t)hi));
    return y;
}

static inline int8x16_t ek_finish_neon(
    int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d, int32_t zero, int32_t lo, int32_t hi)
{
    return vcombine_s8(ek_finish8_neon(a, b, zero, lo, hi), ek_finish8_neon(c, d, zero, lo, hi));
}

/* The first n of four or eight bytes. */
static inline void ek_store8_neon(int8_t *y, int8x8_t v, int32_t n)
{
    if (n >= 8) {
        vst1_s8(y, v);
        return;
    }
    if (n & 4) {
        const int32_t word = vget_lane_s32(vreinterpret_s32_s8(v), 0);
        __builtin_memcpy(y, &word, 4);
        v = vext_s8(v, v, 4);
        y += 4;
    }
    if (n & 2) {
        const int16_t half = vget_lane_s16(vreinterpret_s16_s8(v), 0);
        __builtin_memcpy(y, &half, 2);
        v = vext_s8(v, v, 2);
        y += 2;
    }
    if (n & 1)
        y[0] = vget_lane_s8(v, 0);
}

/* The first n of sixteen bytes. */
static inline void ek_store_neon(int8_t *y, int8x16_t v, int32_t n)
{
    if (n >= 16) {
        vst1q_s8(y, v);
        return;
    }
    if (n >= 8) {
        vst1_s8(y, vget_low_s8(v));
        ek_store8_neon(y + 8, vget_high_s8(v), n - 8);
    } else
        ek_store8_neon(y, vget_low_s8(v), n);
}

#endif
