/* From numbers to the integers of an input or output, by the rounding of TensorFlow Lite. */
#ifndef EDGEKIT_INTEGER_PORT_AWAY_H
#define EDGEKIT_INTEGER_PORT_AWAY_H

#include "edgekit/integer_port.h"

/* The integer of a number as models of TensorFlow Lite round: to the nearest, ties away from zero. */
static inline int32_t ek_port_quantize_away(float number, float scale, int32_t zero, int32_t lo, int32_t hi)
{
    float rest;
    const int32_t whole = ek_port_truncate(number, scale, zero, lo, hi, &rest);
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

#endif
