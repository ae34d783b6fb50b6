/* The requantization rules on four sums at once, for Helium. `exponents` is what a rule wants of the
 * exponents of four outputs, from output o on; none of rules T is above 0. */
#ifndef EDGEKIT_FIXED_MVE_H
#define EDGEKIT_FIXED_MVE_H

#include <arm_mve.h>

static inline int32x4_t ek_requantize_e_exponents(const int8_t *e, int32_t o)
{
    (void)o;
    return vdupq_n_s32(32 - e[0]);
}

/* The low word of the product never matters: what is shifted out of it is less than the half that is added. */
static inline int32x4_t ek_requantize_e_x4(int32x4_t acc, int32x4_t m, int32x4_t e)
{
    return vrshlq_s32(vmulhq_s32(acc, m), e);
}

/* Rule E with a shift of 32 or less: sums have room to go to the left. */
static inline int32x4_t ek_requantize_e_up_exponents(const int8_t *e, int32_t o)
{
    return ek_requantize_e_exponents(e, o);
}

static inline int32x4_t ek_requantize_e_up_x4(int32x4_t acc, int32x4_t m, int32x4_t e)
{
    return vrmulhq_s32(vshlq_s32(acc, e), m);
}

/* Rule E with one multiplier and one shift for all four. */
static inline int32x4_t ek_requantize_e_same_x4(int32x4_t acc, int32_t m, int32_t shift)
{
    return vrshlq_n_s32(vmulhq_s32(acc, vdupq_n_s32(m)), 32 - shift);
}

static inline int32x4_t ek_requantize_tfl_exponents(const int8_t *e, int32_t o)
{
    return vldrbq_s32(e + o);
}

/* The sign of z counts only where e < 0: with e = 0 nothing is rounded a second time. */
static inline int32x4_t ek_requantize_tfl_x4(int32x4_t acc, int32x4_t m, int32x4_t e)
{
    const int32x4_t z = vqrdmulhq_s32(acc, m);
    return vrshlq_s32(vaddq_s32(z, vshrq_n_s32(vandq_s32(z, e), 31)), e);
}

/* The same with one multiplier and one exponent, 0 or less, for all four. */
static inline int32x4_t ek_requantize_tfl_same_x4(int32x4_t acc, int32_t m, int32_t e)
{
    const int32x4_t z = vqrdmulhq_n_s32(acc, m);
    return e < 0 ? vrshlq_n_s32(vaddq_s32(z, vshrq_n_s32(z, 31)), e) : z;
}

static inline int32x4_t ek_requantize_once_exponents(const int8_t *e, int32_t o)
{
    return vldrbq_s32(e + o);
}

/* One rounding of 64 bits by their high word: the low one matters at halves below zero only, where it is 0. Ratios of
 * 1/4 and more shift acc to the left first; what saturates there is far outside of int8. */
static inline int32x4_t ek_requantize_once_x4(int32x4_t acc, int32x4_t m, int32x4_t e)
{
    const int32x4_t wide = vqshlq_s32(acc, vmaxq_s32(vaddq_n_s32(e, 2), vdupq_n_s32(0)));
    const int32x4_t high = vmulhq_s32(wide, m);
    const mve_pred16_t half = vcmpltq_m_n_s32(high, 0, vcmpeqq_n_s32(vmulq_s32(wide, m), 0));
    return vrshlq_s32(vsubq_m_n_s32(high, high, 1, half), vminq_s32(vaddq_n_s32(e, 1), vdupq_n_s32(-1)));
}

/* The same for ratios below 1/4, which shift to the right alone. */
static inline int32x4_t ek_requantize_once_right_exponents(const int8_t *e, int32_t o)
{
    return vaddq_n_s32(vldrbq_s32(e + o), 1);
}

static inline int32x4_t ek_requantize_once_right_x4(int32x4_t acc, int32x4_t m, int32x4_t e)
{
    const int32x4_t high = vmulhq_s32(acc, m);
    const mve_pred16_t half = vcmpeqq_m_n_s32(vmulq_s32(acc, m), 0, vcmpltq_n_s32(high, 0));
    return vrshlq_s32(vsubq_m_n_s32(high, high, 1, half), e);
}

static inline int32x4_t ek_requantize_once_up_exponents(const int8_t *e, int32_t o)
{
    return ek_requantize_once_right_exponents(e, o);
}

/* The same with halves that go up, for ratios below 1/4: as rule E, with a shift of each output. */
static inline int32x4_t ek_requantize_once_up_x4(int32x4_t acc, int32x4_t m, int32x4_t e)
{
    return ek_requantize_e_x4(acc, m, e);
}

#endif
