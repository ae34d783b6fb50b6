/* int8 sum or difference with Helium. Four numbers that lie side by side at once.
 * @when sa[5] == 1 and sb[5] == 1 and exponent <= 0 */
#include "edgekit/contracts/add_s8.h"
#include "edgekit/loops/rows.h"

/* Four numbers at twice the larger scale, with 20 more bits. One operand has the larger scale: half is exact. */
EK_INLINE int32x4_t EK_FN_term(
    const int32x4_t x, const int32_t zero, const int32_t multiplier, const int32_t exponent)
{
    const int32x4_t centred = vsubq_n_s32(x, zero);
    if (multiplier == 1 << 30 && exponent == 0)
        return vshlq_n_s32(centred, 19);
    return ek_requantize_tfl_same_x4(vshlq_n_s32(centred, 20), multiplier, exponent);
}

EK_INLINE int32x4_t EK_FN_sum(const int32x4_t a, const int32x4_t b, const struct EK_STRUCT *p)
{
    const int32x4_t u = EK_FN_term(a, p->a_zero, p->a_multiplier, p->a_exponent);
    const int32x4_t v = EK_FN_term(b, p->b_zero, p->b_multiplier, p->b_exponent);
    const int32x4_t sum = p->sign < 0 ? vsubq_s32(u, v) : vaddq_s32(u, v);
    return ek_requantize_tfl_same_x4(sum, p->multiplier, p->exponent);
}

EK_INLINE void EK_FN_row(
    const int8_t *a, const int8_t *b, int8_t *y, const int32_t n, const struct EK_STRUCT *p)
{
    int32_t i = 0;
    for (; i + 4 <= n; i += 4)
        ek_mve_store_x4(y + i, EK_FN_sum(vldrbq_s32(a + i), vldrbq_s32(b + i), p), p->zero, p->lo, p->hi, 4);
    if (i < n) {
        const mve_pred16_t lanes = vctp32q((uint32_t)(n - i));
        const int32x4_t last_a = vldrbq_z_s32(a + i, lanes), last_b = vldrbq_z_s32(b + i, lanes);
        ek_mve_store_x4(y + i, EK_FN_sum(last_a, last_b, p), p->zero, p->lo, p->hi, n - i);
    }
}

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    EK_EACH_ROW(y, p)
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), EK_ROW_AT(b, p->b0, p->sb), y, p->n[5], p);
}
