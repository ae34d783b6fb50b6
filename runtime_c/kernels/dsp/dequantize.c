/* int8 to reals with DSP instructions: see elementwise_dsp.h. Four numbers a turn.
 * @for A=s8 @work inputs, positions */
#include "edgekit/contracts/dequantize.h"

static EK_SHARED void EK_FN_run(const int8_t *x, float *y, const struct EK_STRUCT *p)
{
    const uint32_t zeros = (uint32_t)(-p->zero & 0xFFFF) * 0x10001u;
    const float scale = p->scale;
    int32_t count = p->n;
    for (; count >= 4; count -= 4, x += 4) {
        const struct ek_four u = ek_four_bytes(x, zeros);
        y = ek_two_reals(y, u.even, u.odd, scale);
        y = ek_two_reals(y, u.even >> 16, u.odd >> 16, scale);
    }
    for (; count > 0; count--)
        *y++ = scale * (float)(*x++ - p->zero);
}

EK_KERNEL void EK_FN(const EK_A *x, float *y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, y, p);
}
