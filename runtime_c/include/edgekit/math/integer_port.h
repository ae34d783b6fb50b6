/* Between numbers and the integers of an input or output, of 8 or 16 bits: number = scale * (integer - zero). */
#ifndef EDGEKIT_INTEGER_PORT_H
#define EDGEKIT_INTEGER_PORT_H

#include <stdint.h>

/* clamp(number / scale + zero, lo, hi) without its fraction, which is left in `rest`; NaN gives 0. What is beyond lo or hi
 * is that bound. Exact, but for the division. */
static inline int32_t ek_port_truncate(
    float number, float scale, int32_t zero, int32_t lo, int32_t hi, float *rest)
{
    const float value = number / scale;
    int32_t whole;
    *rest = 0.0f;
    if (!(value > (float)(lo - zero))) {
        return value == value ? lo : 0;
    }
    if (value >= (float)(hi - zero)) {
        return hi;
    }
    whole = (int32_t)value;
    *rest = value - (float)whole;
    return whole + zero;
}

static inline float ek_port_dequantize(int32_t integer, float scale, int32_t zero)
{
    return scale * (float)(integer - zero);
}

#endif
