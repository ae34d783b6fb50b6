/* int8 PRelu with DSP instructions: see elementwise_dsp.h. Slopes differ from number to number or from row to row.
 * @when sa[5] == 1 and sb[5] <= 1 and lo == -128 and hi == 127 @work inputs, positions */
#include "edgekit/contracts/prelu_s8.h"
#include "edgekit/loops/rows.h"

static EK_SHARED void EK_FN_row(
    const int8_t *a, const int16_t *b, int32_t step, int8_t *y, int32_t count, const struct EK_STRUCT *p)
{
    const uint32_t zeros = (uint32_t)(-p->a_zero & 0xFFFF) * 0x10001u;
    const uint32_t positive = (uint32_t)(p->positive & 0xFFFF) * 0x10001u;
    const int32_t constant = p->constant, shift = p->shift;
    uint32_t slopes[2] = {(uint32_t)(*b & 0xFFFF) * 0x10001u, (uint32_t)(*b & 0xFFFF) * 0x10001u};
    for (; count >= 4; count -= 4, a += 4, b += 4 * step, y += 4) {
        const struct ek_four u = ek_four_bytes(a, zeros);
        if (step > 0)
            __builtin_memcpy(slopes, b, 8);
        const uint32_t g = ek_by_sign(u.even, positive, ek_lower_halves(slopes[0], slopes[1]));
        const uint32_t h = ek_by_sign(u.odd, positive, ek_upper_halves(slopes[0], slopes[1]));
        y[0] = ek_nearest_s8(ek_product_bb(u.even, g, constant) >> shift);
        y[1] = ek_nearest_s8(ek_product_bb(u.odd, h, constant) >> shift);
        y[2] = ek_nearest_s8(ek_product_tt(u.even, g, constant) >> shift);
        y[3] = ek_nearest_s8(ek_product_tt(u.odd, h, constant) >> shift);
    }
    for (; count > 0; count--, b += step) {
        const int32_t u = *a++ - p->a_zero;
        *y++ = ek_nearest_s8((u * (u < 0 ? *b : p->positive) + constant) >> shift);
    }
}

EK_KERNEL void EK_FN(const int8_t *a, const int16_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    EK_EACH_ROW(y, p)
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), EK_ROW_AT(b, p->b0, p->sb), p->sb[5], y, p->n[5], p);
}
