/* Trigonometry of f32: sin, cos, tan for every finite argument, and their inverses. */
#ifndef EDGEKIT_MATH_TRIG_F32_H
#define EDGEKIT_MATH_TRIG_F32_H

#include "edgekit/math/bits.h"
#include "edgekit/math/math_poly_f32.h"
#include "edgekit/math/math_round_f32.h"

/* a = q * pi/2 + high + low, |high| <= pi/4, for a >= 0; returns q modulo 4. Any q for infinity and NaN.
 *
 * Integers only: a is M * 2^e, and 2/pi is known to as many bits as the largest float needs. Bits of 2/pi
 * whose product with a is a multiple of 4 are left out; 96 bits from there give a * 2/pi modulo 4 to 2^-62.
 * No float is nearer to a multiple of pi/2 than about 2^-30. */
static inline uint32_t ek_quadrant_f32(float a, float *high, float *low)
{
    static const uint32_t two_over_pi[8] = {
        0u, 0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u, 0xF534DDC0u, 0xDB629599u, 0x3C439041u, 0xFE5163ABu};
    const uint32_t u = ek_bits_f32(a);
    const uint32_t whole = (u & 0x7FFFFFu) | 0x800000u;
    uint32_t start, shift, window[3], q, i;
    uint64_t turn, size, rest;
    float a2, b2, c2, sum, tail;
    if (a <= 0.785398185f) {
        *high = a;
        *low = 0.0f;
        return 0u;
    }
    start = ((u >> 23) & 0xFFu) - 120u;
    shift = start & 31u;
    for (i = 0; i < 3u; i++) {
        const uint32_t *w = two_over_pi + (start >> 5) + i;
        window[i] = (w[0] << shift) | (w[1] >> 1 >> (31u - shift));
    }
    turn = ((uint64_t)(window[0] * whole) << 32) + (uint64_t)window[1] * whole
           + ((uint64_t)window[2] * whole >> 32);
    q = (uint32_t)((turn + ((uint64_t)1 << 61)) >> 62); /* the nearest quadrant */
    rest = turn - ((uint64_t)q << 62);
    size = rest >> 63 ? (uint64_t)0 - rest : rest;
    /* From quadrants to radians (pi/2 is 0xC90FDAA2 / 2^31), in units of 2^-61. */
    size = (size >> 32) * 0xC90FDAA2u + ((size & 0xFFFFFFFFu) * 0xC90FDAA2u >> 32);
    /* Three floats of at most 22 bits are exact; their sum keeps the leading 24 bits wherever these are. */
    a2 = (float)(int32_t)(size >> 44) * 7.62939453e-06f;
    b2 = (float)(int32_t)(size >> 22 & 0x3FFFFFu) * 1.81898940e-12f;
    c2 = (float)(int32_t)(size & 0x3FFFFFu) * 4.33680869e-19f;
    sum = a2 + b2;
    tail = (b2 - (sum - a2)) + c2;
    a2 = sum + tail;
    tail = tail - (a2 - sum);
    *high = rest >> 63 ? -a2 : a2;
    *low = rest >> 63 ? -tail : tail;
    return q & 3u;
}

/* sin(r + low) and cos(r + low) for |r| <= pi/4. */
static inline float ek_sin_part_f32(float r, float low)
{
    const float z = r * r;
    return r + (r * z * ek_sin_poly_f32(z) + low);
}

static inline float ek_cos_part_f32(float r, float low)
{
    const float z = r * r;
    const float half = 0.5f * z;
    const float h = 1.0f - half;
    return h + (((1.0f - h) - half) + (z * z * ek_cos_poly_f32(z) - r * low));
}

/* sin(x), x in radians. Error below 0.89 ULP. */
static inline float ek_sin_f32(float x)
{
    float r, low, y;
    const uint32_t q = ek_quadrant_f32(ek_fabs_f32(x), &r, &low);
    y = q & 1u ? ek_cos_part_f32(r, low) : ek_sin_part_f32(r, low);
    y = ek_signbit_f32(x) != (int)(q >> 1) ? -y : y;
    return ek_fabs_f32(x) < ek_inf_f32() ? y : x - x;
}

/* cos(x), x in radians. Error below 0.89 ULP. */
static inline float ek_cos_f32(float x)
{
    float r, low, y;
    const uint32_t q = ek_quadrant_f32(ek_fabs_f32(x), &r, &low);
    y = q & 1u ? ek_sin_part_f32(r, low) : ek_cos_part_f32(r, low);
    y = (q + 1u) & 2u ? -y : y;
    return ek_fabs_f32(x) < ek_inf_f32() ? y : x - x;
}

/* tan(x), x in radians. Error below 1.60 ULP. */
static inline float ek_tan_f32(float x)
{
    float r, low, z, s, t, y;
    const uint32_t q = ek_quadrant_f32(ek_fabs_f32(x), &r, &low);
    z = r * r;
    s = r * z * ek_tan_poly_f32(z) + low;
    t = r + s;
    if (q & 1u) {
        /* -1/t, corrected by what is left of 1 + y t; parts of 12 bits make the large products exact. */
        const float first = -1.0f / t;
        const float y12 = ek_from_bits_f32(ek_bits_f32(first) & 0xFFFFF000u);
        const float t12 = ek_from_bits_f32(ek_bits_f32(t) & 0xFFFFF000u);
        y = y12 + first * ((1.0f + y12 * t12) + y12 * ((r - t12) + s));
    } else {
        y = t;
    }
    y = ek_signbit_f32(x) ? -y : y;
    return ek_fabs_f32(x) < ek_inf_f32() ? y : x - x;
}

/* asin(s) for s = sqrt(z) <= 1/2 as high + low: high has 12 bits, so that its square is exact. */
static inline void ek_asin_root_f32(float z, float *high, float *low)
{
    const float s = ek_sqrt_f32(z);
    const float s12 = ek_from_bits_f32(ek_bits_f32(s) & 0xFFFFF000u);
    const float missing = z > 0.0f ? (z - s12 * s12) / (s + s12) : 0.0f;
    *high = s12;
    *low = missing + s * z * ek_asin_poly_f32(z);
}

/* pi/2 in two parts; the first is too large. */
#define EK_PI_2_HIGH_F32 1.57079637f
#define EK_PI_2_LOW_F32 -4.37113883e-08f

/* asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)) beyond 1/2. Error below 0.72 ULP. */
static inline float ek_asin_f32(float x)
{
    const float a = ek_fabs_f32(x);
    float high, low, sum, y;
    if (a < 0.5f) {
        return x + x * (x * x) * ek_asin_poly_f32(x * x);
    }
    if (!(a <= 1.0f)) {
        return ek_nan_f32();
    }
    ek_asin_root_f32(0.5f - 0.5f * a, &high, &low);
    sum = EK_PI_2_HIGH_F32 - 2.0f * high;
    y = sum + (((EK_PI_2_HIGH_F32 - sum) - 2.0f * high) + (EK_PI_2_LOW_F32 - 2.0f * low));
    return ek_copysign_f32(y, x);
}

/* acos(x) = pi/2 - asin(x), or by the root above. Error below 0.69 ULP. */
static inline float ek_acos_f32(float x)
{
    const float a = ek_fabs_f32(x);
    float high, low, sum;
    if (!(a <= 1.0f)) {
        return ek_nan_f32();
    }
    if (a < 0.5f) {
        const float rest = x * (x * x) * ek_asin_poly_f32(x * x);
        sum = EK_PI_2_HIGH_F32 - x;
        return sum + (((EK_PI_2_HIGH_F32 - sum) - x) + (EK_PI_2_LOW_F32 - rest));
    }
    ek_asin_root_f32(0.5f - 0.5f * a, &high, &low);
    if (x > 0.0f) {
        return 2.0f * (high + low);
    }
    sum = 2.0f * (EK_PI_2_HIGH_F32 - high);
    return sum + (((2.0f * EK_PI_2_HIGH_F32 - sum) - 2.0f * high) + (2.0f * EK_PI_2_LOW_F32 - 2.0f * low));
}

/* atan(x) = pi/2 - atan(1 / x) beyond 1, and pi/4 + atan((a - 1) / (a + 1)) where that is closer. Error below 1.05 ULP. */
static inline float ek_atan_f32(float x)
{
    static const float high[3] = {0.0f, 0.785398185f, 1.57079637f};
    static const float low[3] = {0.0f, -2.18556941e-08f, -4.37113883e-08f};
    const float a = ek_fabs_f32(x);
    const int swap = a > 1.0f;
    const float most = swap ? a : 1.0f, least = swap ? 1.0f : a;
    const int diagonal = least > 0.666666687f * most;
    const int eighths =
        swap ? 2 - diagonal : diagonal; /* of a turn: the angle is eighths * pi/4 +- atan(t) */
    const float part = diagonal ? (least - most) / (least + most) : least / most;
    const float t = swap ? -part : part, z = t * t;
    const float sum = high[eighths] + t, tail = t - (sum - high[eighths]);
    return ek_copysign_f32(sum + (tail + (low[eighths] + t * z * ek_atan_poly_f32(z))), x);
}

#endif
