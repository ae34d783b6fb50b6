/* The remainder of division towards minus infinity: it has the sign of y; NaN if x is infinite or y is 0. */
#ifndef EDGEKIT_MODULO_F64_H
#define EDGEKIT_MODULO_F64_H

#include "edgekit/math/math_round_f64.h"

static inline double ek_mod_f64(double x, double y)
{
    const double r = ek_fmod_f64(x, y);
    if (r == 0)
        return ek_copysign_f64(r, y);
    return (r < 0) != (y < 0) ? r + y : r;
}

#endif
