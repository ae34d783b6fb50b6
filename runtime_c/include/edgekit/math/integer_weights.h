/* Integer weights among numbers of a wider type. */
#ifndef EDGEKIT_INTEGER_WEIGHTS_H
#define EDGEKIT_INTEGER_WEIGHTS_H

#include "edgekit/types.h"

EK_INLINE float ek_s8_as_f32(const int8_t w)
{
    return (float)w;
}
/* Nibbles are integers of 32 bits where they were read. */
EK_INLINE float ek_s4_as_f32(const int32_t w)
{
    return (float)w;
}
EK_INLINE uint32_t ek_s8_as_u32(const int8_t w)
{
    return (uint32_t)w;
}
EK_INLINE uint32_t ek_s16_as_u32(const int16_t w)
{
    return (uint32_t)w;
}

#endif
