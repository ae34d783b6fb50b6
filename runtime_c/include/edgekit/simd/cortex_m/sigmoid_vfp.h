/* The logistic function with fused multiplications and additions. */
#ifndef EDGEKIT_SIGMOID_VFP_H
#define EDGEKIT_SIGMOID_VFP_H

#include "edgekit/math/bits.h"

/* 1 / (1 + exp(-x)), from e = exp(-|x|), at least exp(-87): 1 / (1 + e), or e / (1 + e) below zero. -|x| = n ln 2 + r: a
 * polynomial in r, and n is added to its exponent. Error below 3 ULP for x > -87. */
static inline float ek_sigmoid_f32(const float x)
{
    const float a = -__builtin_fabsf(x), c = a < -87.0f ? -87.0f : a; /* NaN stays */
    const float shifted = __builtin_fmaf(c, 1.44269504f, 12582912.0f), n = shifted - 12582912.0f;
    const float r = __builtin_fmaf(n, 2.12194440e-4f, __builtin_fmaf(n, -0.693359375f, c));
    float y = 1.9875691500e-4f;
    y = __builtin_fmaf(y, r, 1.3981999507e-3f);
    y = __builtin_fmaf(y, r, 8.3334519073e-3f);
    y = __builtin_fmaf(y, r, 4.1665795894e-2f);
    y = __builtin_fmaf(y, r, 1.6666665459e-1f);
    y = __builtin_fmaf(y, r, 5.0000001201e-1f);
    y = __builtin_fmaf(y * r, r, r) + 1.0f;
    const float e = ek_from_bits_f32(ek_bits_f32(y) + (ek_bits_f32(shifted) << 23));
    const float share = 1.0f / (1.0f + e);
    return x < 0.0f ? e * share : share;
}

#endif
