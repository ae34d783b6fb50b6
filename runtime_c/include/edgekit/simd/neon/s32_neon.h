/* The requantization rules for four sums at once, and what kernels do before and behind them, with NEON of
 * either width. ek_requantize_<rule>_load reads what the rule needs of the exponents of four channels. */
#ifndef EDGEKIT_S32_NEON_H
#define EDGEKIT_S32_NEON_H

#include "edgekit/simd/neon/s8_neon.h"
#include "edgekit/types.h"

/* Four bytes from anywhere, as the lowest of a vector. */
static inline int8x8_t ek_load4_neon(const int8_t *x)
{
    int32_t word;
    __builtin_memcpy(&word, x, 4);
    return vreinterpret_s8_s32(vdup_n_s32(word));
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
    const int64x2_t low = vmull_s32(vget_low_s32(acc), vget_low_s32(m));
    const int64x2_t high = vmull_s32(vget_high_s32(acc), vget_high_s32(m));
    const int32x2_t y = vqmovn_s64(vrshlq_s64(low, vmovl_s32(vget_low_s32(e))));
    return vcombine_s32(y, vqmovn_s64(vrshlq_s64(high, vmovl_s32(vget_high_s32(e)))));
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
    const int64x2_t low = vmull_s32(vget_low_s32(acc), vget_low_s32(m));
    const int64x2_t high = vmull_s32(vget_high_s32(acc), vget_high_s32(m));
    const int64x2_t y = vrshlq_s64(vsraq_n_s64(low, low, 63), vmovl_s32(vget_low_s32(e)));
    const int64x2_t z = vrshlq_s64(vsraq_n_s64(high, high, 63), vmovl_s32(vget_high_s32(e)));
    return vcombine_s32(vqmovn_s64(y), vqmovn_s64(z));
}

/* Sixteen results as int8: zero is added, and they are clamped. What saturates on the way is outside anyway. */
static inline int8x16_t ek_finish_neon(
    int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d, int32_t zero, int32_t lo, int32_t hi)
{
    const int16x8_t offset = vdupq_n_s16((int16_t)zero);
    const int16x8_t low = vqaddq_s16(vcombine_s16(vqmovn_s32(a), vqmovn_s32(b)), offset);
    const int16x8_t high = vqaddq_s16(vcombine_s16(vqmovn_s32(c), vqmovn_s32(d)), offset);
    int8x16_t y = vcombine_s8(vqmovn_s16(low), vqmovn_s16(high));
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

/* The vocabulary of elementwise kernels and of pooling, which all instruction sets define: s32_<set>.h. */
#define EK_VI_LANES 4
#define EK_VI_SHARED EK_INLINE

typedef int32x4_t ek_vi;

EK_INLINE ek_vi ek_vi_same(const int32_t x)
{
    return vdupq_n_s32(x);
}
EK_INLINE ek_vi ek_vi_add(const ek_vi a, const ek_vi b)
{
    return vaddq_s32(a, b);
}
EK_INLINE ek_vi ek_vi_mul(const ek_vi a, const ek_vi b)
{
    return vmulq_s32(a, b);
}
/* a >> n */
EK_INLINE ek_vi ek_vi_shifted(const ek_vi a, const int32_t n)
{
    return vshlq_s32(a, vdupq_n_s32(-n));
}

/* A factor for all lanes, of 32 bits or of 16: then a product with what was widened takes one instruction. */
EK_INLINE ek_vi ek_s32_factor(const int32_t x)
{
    return vdupq_n_s32(x);
}
EK_INLINE ek_vi ek_s16_factor(const int32_t x)
{
    return vmovl_s16(vdup_n_s16((int16_t)x));
}

/* Four vectors of int8 that lie side by side, less their zero point. */
EK_INLINE void ek_vi_load_s8(ek_vi *z, const int8_t *x, const int32_t zero)
{
    const int8x8_t less = vdup_n_s8((int8_t)zero);
    const int8x16_t all = vld1q_s8(x);
    const int16x8_t low = zero ? vsubl_s8(vget_low_s8(all), less) : vmovl_s8(vget_low_s8(all));
    const int16x8_t high = zero ? vsubl_s8(vget_high_s8(all), less) : vmovl_s8(vget_high_s8(all));
    z[0] = vmovl_s16(vget_low_s16(low));
    z[1] = vmovl_s16(vget_high_s16(low));
    z[2] = vmovl_s16(vget_low_s16(high));
    z[3] = vmovl_s16(vget_high_s16(high));
}

/* A vector of int32 and of int16. */
EK_INLINE ek_vi ek_vi_load(const int32_t *x)
{
    return vld1q_s32(x);
}
EK_INLINE ek_vi ek_vi_load_s16(const int16_t *x)
{
    return vmovl_s16(vld1_s16(x));
}

/* `below` in the lanes where a is less than 0, else `other`. */
EK_INLINE ek_vi ek_vi_by_sign(const ek_vi a, const ek_vi below, const ek_vi other)
{
    return vbslq_s32(vcltq_s32(a, vdupq_n_s32(0)), below, other);
}

/* The sum of its numbers. */
EK_INLINE int32_t ek_vi_total(const ek_vi x)
{
    const int32x2_t two = vadd_s32(vget_low_s32(x), vget_high_s32(x));
    return vget_lane_s32(two, 0) + vget_lane_s32(two, 1);
}

/* clamp(zero + z) of four vectors as int8, and of sixteen numbers. */
EK_INLINE void ek_vi_store_s8(
    int8_t *y, const ek_vi *z, const int32_t zero, const int32_t lo, const int32_t hi)
{
    vst1q_s8(y, ek_finish_neon(z[0], z[1], z[2], z[3], zero, lo, hi));
}
EK_INLINE void ek_vi_store16_s8(
    int8_t *y, const ek_vi *z, const int32_t zero, const int32_t lo, const int32_t hi)
{
    ek_vi_store_s8(y, z, zero, lo, hi);
}

/* The first n of these. */
EK_INLINE void ek_vi_copy_s8(int8_t *y, const int8_t *x, const int32_t n)
{
    ek_copy_neon(y, x, n);
}

/* Sixteen sums of at most 256 int8, and what they add to sums of 32 bits. */
typedef int16x8x2_t ek_v16;

EK_INLINE ek_v16 ek_v16_none(void)
{
    ek_v16 y;
    y.val[0] = y.val[1] = vdupq_n_s16(0);
    return y;
}
EK_INLINE ek_v16 ek_v16_add_s8(ek_v16 y, const int8_t *x)
{
    const int8x16_t all = vld1q_s8(x);
    y.val[0] = vaddw_s8(y.val[0], vget_low_s8(all));
    y.val[1] = vaddw_s8(y.val[1], vget_high_s8(all));
    return y;
}
EK_INLINE void ek_vi_add_v16(ek_vi *sum, const ek_v16 x)
{
    sum[0] = vaddw_s16(sum[0], vget_low_s16(x.val[0]));
    sum[1] = vaddw_s16(sum[1], vget_high_s16(x.val[0]));
    sum[2] = vaddw_s16(sum[2], vget_low_s16(x.val[1]));
    sum[3] = vaddw_s16(sum[3], vget_high_s16(x.val[1]));
}

/* The whole part of (x + half) * factor, half having the sign of x. */
EK_INLINE ek_vi ek_vi_scaled(const ek_vi x, const float half, const float factor)
{
    const float32x4_t v = vcvtq_f32_s32(x);
    const float32x4_t signed_half = vbslq_f32(vdupq_n_u32(0x80000000u), v, vdupq_n_f32(half));
    return vcvtq_s32_f32(vmulq_n_f32(vaddq_f32(v, signed_half), factor));
}

#endif
