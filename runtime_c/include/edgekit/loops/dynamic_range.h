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

/* The zero point of n numbers, and their scale: 1 where all are 0. Eight ranges side by side do not wait for each other. */
EK_INLINE int32_t ek_dynamic_range(const float *x, const int32_t n, float *scale)
{
    float least[8] = {0}, most[8] = {0}, lo = 0.0f, hi = 0.0f;
    int32_t i = 0;
    for (; i + 8 <= n; i += 8)
        EK_SIDE_BY_SIDE
    for (int32_t k = 0; k < 8; k++) {
        least[k] = x[i + k] < least[k] ? x[i + k] : least[k];
        most[k] = x[i + k] > most[k] ? x[i + k] : most[k];
    }
    for (; i < n; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    for (int32_t k = 0; k < 8; k++) {
        lo = least[k] < lo ? least[k] : lo;
        hi = most[k] > hi ? most[k] : hi;
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
