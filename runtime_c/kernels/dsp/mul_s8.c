/* int8 product by rule E with DSP instructions: see elementwise_dsp.h.
 * @when sa[5] == 1 and sb[5] == 1 and lo == -128 and hi == 127 and exponent > 32
 * @work calls, outputs, positions */
#include "edgekit/contracts/mul_s8.h"
#include "edgekit/loops/rows.h"

static EK_SHARED void EK_FN_row(
    const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const struct EK_STRUCT *p)
{
    const uint32_t a_zeros = (uint32_t)(-p->a_zero & 0xFFFF) * 0x10001u;
    const uint32_t b_zeros = (uint32_t)(-p->b_zero & 0xFFFF) * 0x10001u;
    const struct ek_scale scale = ek_scale_e(p->multiplier, p->exponent, p->zero);
    for (; count >= 4; count -= 4, a += 4, b += 4, y += 4) {
        const struct ek_four u = ek_four_bytes(a, a_zeros), v = ek_four_bytes(b, b_zeros);
        y[0] = ek_scaled_small_s8(ek_product_bb(u.even, v.even, 0), &scale);
        y[1] = ek_scaled_small_s8(ek_product_bb(u.odd, v.odd, 0), &scale);
        y[2] = ek_scaled_small_s8(ek_product_tt(u.even, v.even, 0), &scale);
        y[3] = ek_scaled_small_s8(ek_product_tt(u.odd, v.odd, 0), &scale);
    }
    for (; count > 0; count--)
        *y++ = ek_scaled_small_s8((*a++ - p->a_zero) * (*b++ - p->b_zero), &scale);
}

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    EK_EACH_ROW(y, p)
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), EK_ROW_AT(b, p->b0, p->sb), y, p->n[5], p);
}
