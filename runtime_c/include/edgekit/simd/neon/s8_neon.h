/* int8 with NEON of either width: loads, copies, and sums of products of 16 bits. */
#ifndef EDGEKIT_S8_NEON_H
#define EDGEKIT_S8_NEON_H

#include <arm_neon.h>
#include <stdint.h>

/* Eight numbers less their zero point; of less than eight, what is behind them is 0. */
static inline int16x8_t ek_less_neon(const int8_t *x, int32_t n, int32_t zero)
{
    if (n >= 8)
        return vsubl_s8(vld1_s8(x), vdup_n_s8((int8_t)zero));
    int8_t some[8];
    for (int32_t i = 0; i < 8; i++)
        some[i] = i < n ? x[i] : (int8_t)zero;
    return vsubl_s8(vld1_s8(some), vdup_n_s8((int8_t)zero));
}

/* Products of eight numbers, added to four sums. */
static inline int32x4_t ek_dot16_neon(int32x4_t sum, int16x8_t a, int16x8_t b)
{
    return vmlal_s16(vmlal_s16(sum, vget_low_s16(a), vget_low_s16(b)), vget_high_s16(a), vget_high_s16(b));
}

/* n bytes, which do not overlap; without a call, as they are few. */
static inline void ek_copy_neon(int8_t *y, const int8_t *x, int32_t n)
{
    int32_t i = 0;
    for (; i + 16 <= n; i += 16)
        vst1q_s8(y + i, vld1q_s8(x + i));
    if (n & 8) {
        vst1_s8(y + i, vld1_s8(x + i));
        i += 8;
    }
    if (n & 4) {
        __builtin_memcpy(y + i, x + i, 4);
        i += 4;
    }
    if (n & 2) {
        __builtin_memcpy(y + i, x + i, 2);
        i += 2;
    }
    if (n & 1)
        y[i] = x[i];
}

/* n times the same byte. */
static inline void ek_fill_neon(int8_t *y, int32_t value, int32_t n)
{
    int32_t i = 0;
    for (; i + 16 <= n; i += 16)
        vst1q_s8(y + i, vdupq_n_s8((int8_t)value));
    for (; i < n; i++)
        y[i] = (int8_t)value;
}

#endif
