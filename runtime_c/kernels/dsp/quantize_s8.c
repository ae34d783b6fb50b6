/* Reals to int8, halves to the even integer. A number less than 2^22 that is added to 1.5 2^23 leaves its integer in
 * the last bits of the sum; larger ones are larger integers there, too, and saturate.
 * @for Y=s8 @work inputs, rest cells */
/* Reals to int16, halves to the even integer.
 * @as dsp/quantize_s16 Y=s16 byte=half @work inputs */
#include "edgekit/contracts/quantize.h"

static EK_SHARED void EK_FN_run(const float *x, EK_Y *y, const struct EK_STRUCT *p)
{
    const float scale = p->scale;
    const int32_t base = 0x4B400000 - p->zero;
    for (const float *end = x + p->n; x != end;) {
        const float sum = *x++ / scale + 12582912.0f;
        int32_t bits;
        __builtin_memcpy(&bits, &sum, 4);
        if (2 * (uint32_t)bits > 0xFF000000u)
            *y++ = 0; /* no number */
        else
            *y++ = ek_byte_difference(bits, base);
    }
}

EK_KERNEL void EK_FN(const float *x, EK_Y *y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, y, p);
}
