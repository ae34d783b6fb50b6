/* Integers of four bits, two in a byte: even ones in the low half. */
#ifndef EDGEKIT_INT4_H
#define EDGEKIT_INT4_H

#include <stdint.h>

#define EK_AT_s4(p, i) ek_nibble((p), (i))

/* The i-th of them. */
static inline int32_t ek_nibble(const int8_t *p, int32_t i)
{
    const uint32_t pair = (uint8_t)p[i >> 1];
    return (int32_t)(((pair >> (4 * (i & 1))) & 15u) ^ 8u) - 8;
}

#endif
