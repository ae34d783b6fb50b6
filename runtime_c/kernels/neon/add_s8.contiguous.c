/* int8 sum or difference: see add_s8.h. Sixteen numbers that lie side by side advance together.
 * @when sa[5] == 1
 * @when sb[5] == 1 */
/* int8 sum or difference, sixteen numbers that lie side by side at once.
 * @as neon32/add_s8.contiguous
 * @when sa[5] == 1
 * @when sb[5] == 1 */
#include "edgekit/contracts/add_s8.h"
#include "edgekit/loops/rows.h"

/* Four numbers of each operand, less its zero point, times 16. */
EK_INLINE int32x4_t EK_FN_sum(const int16x4_t a, const int16x4_t b, const struct EK_STRUCT *p)
{
    const int32x4_t u = ek_requantize_tfl_same(vshll_n_s16(a, 16), p->a_multiplier, p->a_exponent);
    const int32x4_t v = ek_requantize_tfl_same(vshll_n_s16(b, 16), p->b_multiplier, p->b_exponent);
    const int32x4_t sum = p->sign < 0 ? vsubq_s32(u, v) : vaddq_s32(u, v);
    return ek_requantize_tfl_same(sum, p->multiplier, p->exponent);
}

EK_INLINE int8x16_t EK_FN_sixteen(const int8x16_t a, const int8x16_t b, const struct EK_STRUCT *p)
{
    const int8x8_t a_zero = vdup_n_s8((int8_t)p->a_zero), b_zero = vdup_n_s8((int8_t)p->b_zero);
    const int16x8_t a0 = vshlq_n_s16(vsubl_s8(vget_low_s8(a), a_zero), 4);
    const int16x8_t a1 = vshlq_n_s16(vsubl_s8(vget_high_s8(a), a_zero), 4);
    const int16x8_t b0 = vshlq_n_s16(vsubl_s8(vget_low_s8(b), b_zero), 4);
    const int16x8_t b1 = vshlq_n_s16(vsubl_s8(vget_high_s8(b), b_zero), 4);
    return ek_finish_neon(EK_FN_sum(vget_low_s16(a0), vget_low_s16(b0), p),
        EK_FN_sum(vget_high_s16(a0), vget_high_s16(b0), p), EK_FN_sum(vget_low_s16(a1), vget_low_s16(b1), p),
        EK_FN_sum(vget_high_s16(a1), vget_high_s16(b1), p), p->zero, p->lo, p->hi);
}

/* A row of any length. What is less than sixteen goes through memory of its own. */
EK_INLINE void EK_FN_row(
    const int8_t *a, const int8_t *b, int8_t *y, const int32_t n, const struct EK_STRUCT *p)
{
    int32_t i = 0;
    for (; i + 16 <= n; i += 16)
        vst1q_s8(y + i, EK_FN_sixteen(vld1q_s8(a + i), vld1q_s8(b + i), p));
    if (i < n) {
        int8_t last_a[16] = {0}, last_b[16] = {0};
        ek_copy_neon(last_a, a + i, n - i);
        ek_copy_neon(last_b, b + i, n - i);
        ek_store_neon(y + i, EK_FN_sixteen(vld1q_s8(last_a), vld1q_s8(last_b), p), n - i);
    }
}

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    EK_EACH_ROW(y, p)
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), EK_ROW_AT(b, p->b0, p->sb), y, p->n[5], p);
}
