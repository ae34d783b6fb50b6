/* The remainder of division towards minus infinity: it has the sign of y; NaN if x is infinite or y is 0. */
#ifndef EDGEKIT_MODULO_F32_H
#define EDGEKIT_MODULO_F32_H

#include "edgekit/math/math_round_f32.h"

static inline float ek_mod_f32(float x, float y)
{
    const float r = ek_fmod_f32(x, y);
    if (r == 0)
        return ek_copysign_f32(r, y);
    return (r < 0) != (y < 0) ? r + y : r;
}

#endif
