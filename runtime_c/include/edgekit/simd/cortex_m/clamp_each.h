/* Floats within limits on Cortex-M, where subnormal numbers stay what they are. */
#ifndef EDGEKIT_CLAMP_EACH_H
#define EDGEKIT_CLAMP_EACH_H

#include "edgekit/types.h"

/* One by one: vectors of Helium, which compilers would make, take subnormal numbers for 0. */
static inline void ek_clamp_each(float *y, const int32_t n, const float lo, const float hi)
{
    if (lo > -EK_INF_f32 || hi < EK_INF_f32)
        for (int32_t i = 0; i < n; i++) {
            float v = y[i];
            __asm volatile("" : "+t"(v));
            y[i] = v < lo ? lo : v > hi ? hi : v;
        }
}

#endif
