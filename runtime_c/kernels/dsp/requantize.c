/* int16 to int8 by rule E with DSP instructions. Of a multiplier times half a word 32 of 48 bits are kept, which are
 * all that matter.
 * @for A=s16 Y=s8 @when x_zero == 0 and exponent > 32 and exponent <= 46 @work inputs, positions */
#include "edgekit/contracts/requantize.h"

static EK_SHARED void EK_FN_run(const int16_t *x, int8_t *y, const struct EK_STRUCT *p)
{
    const int32_t m = p->multiplier, shift = p->exponent - 16, half = 1 << (shift - 1), zero = p->zero;
    int32_t count = p->n;
    for (; count >= 4; count -= 4, x += 4, y += 4) {
        uint32_t u[2];
        __builtin_memcpy(u, x, 8);
        y[0] = ek_nearest_s8((ek_product_wb(m, u[0], half) >> shift) + zero);
        y[1] = ek_nearest_s8((ek_product_wt(m, u[0], half) >> shift) + zero);
        y[2] = ek_nearest_s8((ek_product_wb(m, u[1], half) >> shift) + zero);
        y[3] = ek_nearest_s8((ek_product_wt(m, u[1], half) >> shift) + zero);
    }
    for (; count > 0; count--)
        *y++ = ek_nearest_s8((ek_product_wb(m, (uint16_t)*x++, half) >> shift) + zero);
}

EK_KERNEL void EK_FN(const EK_A *x, EK_Y *y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, y, p);
}
