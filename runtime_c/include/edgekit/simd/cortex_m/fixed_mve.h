/* The requantization rules on four sums at once, for Helium: in C, and in assembly for the registers that functions in
 * assembly have their sums in. `exponents` is what a rule wants of the exponents of four outputs, from output o on; none of
 * rules T is above 0. */
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

/* In assembly: the high word of a product, that of a doubled one, rounded; a shift that rounds; 1 less for a sum below zero,
 * unless its exponent is 0; and a zero point. */
#define EK_MVE_HIGH(sum, m) "vmulh.s32 " #sum ", " #sum ", " #m "\n"
#define EK_MVE_ROUNDED_HIGH(sum, m) "vqrdmulh.s32 " #sum ", " #sum ", " #m "\n"
#define EK_MVE_SHIFT(sum, e) "vrshl.s32 " #sum ", " #sum ", " #e "\n"
#define EK_MVE_AWAY(sum, e, t)                                                                               \
    "vand " #t ", " #sum ", " #e "\n"                                                                        \
    "vshr.s32 " #t ", " #t ", #31\n"                                                                         \
    "vadd.i32 " #sum ", " #sum ", " #t "\n"
#define EK_MVE_ADD(sum, zero) "vadd.i32 " #sum ", " #sum ", " #zero "\n"

/* clang-format off */
/* Eight sums in q0 and q1 with multipliers in q3; `zero` is a register. Rule E has its shift in q6; for rule T `exponents`
 * loads q3. */
#define EK_TWO_PIXELS_E(zero)                                                                                \
    EK_MVE_HIGH(q0, q3) EK_MVE_HIGH(q1, q3)                                                                  \
    EK_MVE_SHIFT(q0, q6) EK_MVE_SHIFT(q1, q6)                                                                \
    EK_MVE_ADD(q0, zero) EK_MVE_ADD(q1, zero)
#define EK_TWO_PIXELS_E_UP(zero)                                                                             \
    "vshl.s32 q0, q0, q6\n"                                                                                  \
    "vshl.s32 q1, q1, q6\n"                                                                                  \
    "vrmulh.s32 q0, q0, q3\n"                                                                                \
    "vrmulh.s32 q1, q1, q3\n"                                                                                \
    EK_MVE_ADD(q0, zero) EK_MVE_ADD(q1, zero)
#define EK_TWO_PIXELS_TFL(exponents, zero)                                                                   \
    EK_MVE_ROUNDED_HIGH(q0, q3) EK_MVE_ROUNDED_HIGH(q1, q3)                                                  \
    exponents                                                                                                \
    EK_MVE_AWAY(q0, q3, q2) EK_MVE_SHIFT(q0, q3)                                                             \
    EK_MVE_AWAY(q1, q3, q2) EK_MVE_SHIFT(q1, q3)                                                             \
    EK_MVE_ADD(q0, zero) EK_MVE_ADD(q1, zero)
#define EK_TWO_PIXELS_TFL_UP(exponents, zero)                                                                \
    EK_MVE_ROUNDED_HIGH(q0, q3) EK_MVE_ROUNDED_HIGH(q1, q3)                                                  \
    exponents                                                                                                \
    EK_MVE_SHIFT(q0, q3) EK_MVE_SHIFT(q1, q3)                                                                \
    EK_MVE_ADD(q0, zero) EK_MVE_ADD(q1, zero)

/* Four sums with multipliers at r3 and exponents at r4, which advance; q4 to q6 are free. Rule E has its shift in q7. */
#define EK_TAPS_E(sum) "vldrw.32 q4, [r3], #16\n" EK_MVE_HIGH(sum, q4) EK_MVE_SHIFT(sum, q7)
#define EK_TAPS_HIGH(sum)                                                                                    \
    "vldrw.32 q4, [r3], #16\n"                                                                               \
    "vldrb.s32 q5, [r4], #4\n"                                                                               \
    EK_MVE_ROUNDED_HIGH(sum, q4)
#define EK_TAPS_TFL(sum) EK_TAPS_HIGH(sum) EK_MVE_AWAY(sum, q5, q6) EK_MVE_SHIFT(sum, q5)
#define EK_TAPS_TFL_UP(sum) EK_TAPS_HIGH(sum) EK_MVE_SHIFT(sum, q5)

/* Eight sums in q0 and q1 with the multiplier in r9 and the exponent in r11; q2 is free. */
#define EK_BAND_SHIFT "vrshl.s32 q0, r11\nvrshl.s32 q1, r11\n"
#define EK_BAND_E "vdup.32 q2, r9\n" EK_MVE_HIGH(q0, q2) EK_MVE_HIGH(q1, q2) EK_BAND_SHIFT
#define EK_BAND_AWAY(sum) "vdup.32 q2, r11\n" EK_MVE_AWAY(sum, q2, q2)
#define EK_BAND_TFL_UP EK_MVE_ROUNDED_HIGH(q0, r9) EK_MVE_ROUNDED_HIGH(q1, r9) EK_BAND_SHIFT
#define EK_BAND_TFL                                                                                          \
    EK_MVE_ROUNDED_HIGH(q0, r9) EK_MVE_ROUNDED_HIGH(q1, r9)                                                  \
    EK_BAND_AWAY(q0) EK_BAND_AWAY(q1)                                                                        \
    EK_BAND_SHIFT
/* clang-format on */

#endif
