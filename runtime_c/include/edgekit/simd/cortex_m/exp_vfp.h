/* exp(x) for x <= 0 with fused multiplications and additions. */
#ifndef EDGEKIT_EXP_VFP_H
#define EDGEKIT_EXP_VFP_H

#include "edgekit/math/bits.h"

/* exp(x) for -inf <= x <= 0, at least exp(-87). NaN stays. x = n ln 2 + r: a polynomial in r, times 2^n. */
static inline float ek_exp_below_vfp(const float x)
{
    const float c = x < -87.0f ? -87.0f : x;
    const float shifted = __builtin_fmaf(c, 1.44269504f, 12582912.0f), n = shifted - 12582912.0f;
    const float r = __builtin_fmaf(n, 2.12194440e-4f, __builtin_fmaf(n, -0.693359375f, c));
    float y = 1.9875691500e-4f;
    y = __builtin_fmaf(y, r, 1.3981999507e-3f);
    y = __builtin_fmaf(y, r, 8.3334519073e-3f);
    y = __builtin_fmaf(y, r, 4.1665795894e-2f);
    y = __builtin_fmaf(y, r, 1.6666665459e-1f);
    y = __builtin_fmaf(y, r, 5.0000001201e-1f);
    y = __builtin_fmaf(y * r, r, r) + 1.0f;
    return y * ek_from_bits_f32((ek_bits_f32(shifted) << 23) + 0x3F800000u);
}

#endif
