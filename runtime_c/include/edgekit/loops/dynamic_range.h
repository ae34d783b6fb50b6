/* Dynamic quantization: unsigned bytes over the range that numbers have in this run, and 0. */
#ifndef EDGEKIT_DYNAMIC_RANGE_H
#define EDGEKIT_DYNAMIC_RANGE_H

#include "edgekit/math/math_f32.h"
#include "edgekit/types.h"

/* v rounded to a byte. */
EK_INLINE int32_t ek_dynamic_byte(const float v)
{
    return v >= 255.0f ? 255 : v > 0.0f ? (int32_t)v : 0;
}

/* The zero point of n numbers, and their scale: 1 where all are 0. */
EK_INLINE int32_t ek_dynamic_range(const float *x, const int32_t n, float *scale)
{
    float lo = 0.0f, hi = 0.0f;
    for (int32_t i = 0; i < n; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    const float s = (hi - lo) / 255.0f;
    *scale = s > 0.0f ? s : 1.0f;
    return ek_dynamic_byte(ek_round_even_f32((0.0f - lo) / *scale));
}

/* x as a byte. */
EK_INLINE int32_t ek_dynamic_code(const float x, const float scale, const int32_t zero)
{
    return ek_dynamic_byte(ek_round_even_f32(x / scale) + (float)zero);
}

#endif
