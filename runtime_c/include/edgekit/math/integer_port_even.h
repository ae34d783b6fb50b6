/* From numbers to the integers of an input or output, by the rounding of the simulator. */
#ifndef EDGEKIT_INTEGER_PORT_EVEN_H
#define EDGEKIT_INTEGER_PORT_EVEN_H

#include "edgekit/integer_port.h"

/* The integer of a number as the simulator rounds: to the nearest, ties to the one that is even without the zero point. */
static inline int32_t ek_port_quantize(float number, float scale, int32_t zero, int32_t lo, int32_t hi)
{
    float rest;
    const int32_t whole = ek_port_truncate(number, scale, zero, lo, hi, &rest);
    const int32_t odd = (whole - zero) % 2;
    return whole + (rest > 0.5f || (rest == 0.5f && odd)) - (rest < -0.5f || (rest == -0.5f && odd));
}

#endif
