/* int16 to reals with DSP instructions: see elementwise_dsp.h. Two numbers a turn.
 * @for A=s16 @when zero == 0 */
#include "edgekit/contracts/dequantize.h"

static EK_SHARED void EK_FN_run(const int16_t *x, float *y, const struct EK_STRUCT *p)
{
    const float scale = p->scale;
    int32_t count = p->n;
    for (; count >= 2; count -= 2, x += 2) {
        uint32_t both;
        __builtin_memcpy(&both, x, 4);
        y = ek_two_reals(y, both, both >> 16, scale);
    }
    if (count > 0)
        *y = scale * (float)*x;
}

EK_KERNEL void EK_FN(const EK_A *x, float *y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, y, p);
}
