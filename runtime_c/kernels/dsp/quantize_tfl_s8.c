/* Reals to int8, halves away from zero. A fraction in halves is -1, 0 or 1 without its own fraction. What leaves 32
 * bits saturates, and NaN is converted to 0.
 * @for Y=s8 @work inputs */
/* Reals to int16, halves away from zero.
 * @as dsp/quantize_tfl_s16 Y=s16 byte=half */
#include "edgekit/contracts/quantize.h"

static EK_SHARED void EK_FN_run(const float *x, EK_Y *y, const struct EK_STRUCT *p)
{
    const float scale = p->scale;
    const int32_t zero = p->zero;
    for (const float *end = x + p->n; x != end;) {
        const float v = *x++ / scale;
        float whole, fraction;
        int32_t sum;
        __asm("vcvt.s32.f32 %1, %3\n"
              "vcvt.f32.s32 %2, %1\n"
              "vsub.f32 %2, %3, %2\n"
              "vcvt.s32.f32 %2, %2, #1\n"
              "vmov %0, %1\n"
              "vmov r12, %2\n"
              "qadd %0, %0, r12\n"
            : "=&r"(sum), "=&t"(whole), "=&t"(fraction)
            : "t"(v)
            : "r12", "cc");
        *y++ = v == v ? ek_byte_sum(sum, zero) : 0;
    }
}

EK_KERNEL void EK_FN(const float *x, EK_Y *y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, y, p);
}
