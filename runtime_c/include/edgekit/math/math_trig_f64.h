/* Trigonometry of f64: sin, cos, tan for every finite argument, and their inverses. */
#ifndef EDGEKIT_MATH_TRIG_F64_H
#define EDGEKIT_MATH_TRIG_F64_H

#include "edgekit/math/bits.h"
#include "edgekit/math/math_log_f64.h"
#include "edgekit/math/math_poly_f64.h"
#include "edgekit/math/math_round_f64.h"

/* pi/2 in two parts. */
#define EK_PI_2_HIGH_F64 1.5707963267948966
#define EK_PI_2_LOW_F64 6.123233995736766e-17

/* a = q * pi/2 + high + low, |high| <= pi/4, for a >= 0; returns q modulo 4: see ek_quadrant_f32.
 * Here 192 bits of 2/pi give a * 2/pi modulo 4 to 2^-137, and no float is nearer than about 2^-61. */
static inline uint32_t ek_quadrant_f64(double a, double *high, double *low)
{
    const uint64_t u = ek_bits_f64(a);
    const uint32_t m[2] = {(uint32_t)(u & 0xFFFFFFFFu), (uint32_t)(u >> 32 & 0xFFFFFu) | 0x100000u};
    uint32_t turn[6] = {0u, 0u, 0u, 0u, 0u, 0u}; /* a * 2/pi / 4, fraction bits, last word first */
    uint32_t start, shift, q, negative, i, j;
    double r, rl, p, pl, sum;
    if (a <= 0.7853981633974483) {
        *high = a;
        *low = 0.0;
        return 0u;
    }
    start = (uint32_t)(u >> 52 & 0x7FFu) - 1013u;
    shift = start & 31u;
    for (i = 0; i < 6u; i++) {
        const uint32_t w = (start >> 5) + 5u - i;
        const uint32_t window =
            ek_two_over_pi_word(w) << shift | ek_two_over_pi_word(w + 1u) >> 1 >> (31u - shift);
        uint64_t carry = 0u;
        for (j = 0; j < 2u && i + j < 6u; j++) {
            carry += (uint64_t)window * m[j] + turn[i + j];
            turn[i + j] = (uint32_t)(carry & 0xFFFFFFFFu);
            carry >>= 32;
        }
        if (i + 2u < 6u) {
            turn[i + 2u] = (uint32_t)carry; /* nothing was there yet */
        }
    }
    /* The nearest quadrant; what is left is signed, as its magnitude. */
    q = (turn[5] + 0x20000000u) >> 30;
    turn[5] -= q << 30;
    negative = turn[5] >> 31;
    for (i = 2; i < 6u; i++) {
        turn[i] = negative ? ~turn[i] : turn[i]; /* off by 2^-126, far below need */
    }
    sum = turn[5] * 9.313225746154785e-10;
    r = turn[4] * 2.168404344971009e-19;
    p = sum + r;
    rl = ((sum - p) + r) + (turn[3] * 5.048709793414476e-29 + turn[2] * 1.1754943508222875e-38);
    r = p + rl;
    rl = rl - (r - p);
    /* From quadrants to radians. */
    p = ek_product_f64(r, EK_PI_2_HIGH_F64, &pl);
    pl += r * EK_PI_2_LOW_F64 + rl * EK_PI_2_HIGH_F64;
    *high = negative ? -p : p;
    *low = negative ? -pl : pl;
    return q & 3u;
}

/* sin(r + low) and cos(r + low) for |r| <= pi/4. */
static inline double ek_sin_part_f64(double r, double low)
{
    const double z = r * r;
    return r + (r * z * ek_sin_poly_f64(z) + low);
}

static inline double ek_cos_part_f64(double r, double low)
{
    const double z = r * r;
    const double h = 1.0 - 0.5 * z;
    return h + (((1.0 - h) - 0.5 * z) + (z * z * ek_cos_poly_f64(z) - r * low));
}

/* sin(x), x in radians. Error below 1.10 ULP. */
static inline double ek_sin_f64(double x)
{
    double r, low, y;
    uint32_t q;
    if (!(ek_fabs_f64(x) < ek_inf_f64())) {
        return x - x;
    }
    q = ek_quadrant_f64(ek_fabs_f64(x), &r, &low);
    y = q & 1u ? ek_cos_part_f64(r, low) : ek_sin_part_f64(r, low);
    return ek_signbit_f64(x) != (int)(q >> 1) ? -y : y;
}

/* cos(x), x in radians. Error below 1.10 ULP. */
static inline double ek_cos_f64(double x)
{
    double r, low, y;
    uint32_t q;
    if (!(ek_fabs_f64(x) < ek_inf_f64())) {
        return x - x;
    }
    q = ek_quadrant_f64(ek_fabs_f64(x), &r, &low);
    y = q & 1u ? ek_sin_part_f64(r, low) : ek_cos_part_f64(r, low);
    return (q + 1u) & 2u ? -y : y;
}

/* tan(x), x in radians. Error below 2.80 ULP. */
static inline double ek_tan_f64(double x)
{
    double r, low, s, c, y;
    uint32_t q;
    if (!(ek_fabs_f64(x) < ek_inf_f64())) {
        return x - x;
    }
    q = ek_quadrant_f64(ek_fabs_f64(x), &r, &low);
    s = ek_sin_part_f64(r, low);
    c = ek_cos_part_f64(r, low);
    y = q & 1u ? -c / s : s / c;
    return ek_signbit_f64(x) ? -y : y;
}

/* asin(x) for |x| <= 1/2. */
static inline double ek_asin_part_f64(double x)
{
    return x + x * (x * x) * ek_asin_poly_f64(x * x);
}

/* asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)) beyond 1/2. Error below 2.40 ULP. */
static inline double ek_asin_f64(double x)
{
    const double a = ek_fabs_f64(x);
    double y;
    if (!(a <= 1.0)) {
        return ek_nan_f64();
    }
    if (a < 0.5) {
        return ek_asin_part_f64(x);
    }
    y = ek_asin_part_f64(ek_sqrt_f64(0.5 - 0.5 * a));
    return ek_copysign_f64(EK_PI_2_HIGH_F64 - (2.0 * y - EK_PI_2_LOW_F64), x);
}

/* acos(x) = pi/2 - asin(x), or by the root above. Error below 1.40 ULP. */
static inline double ek_acos_f64(double x)
{
    const double a = ek_fabs_f64(x);
    double y;
    if (!(a <= 1.0)) {
        return ek_nan_f64();
    }
    if (a < 0.5) {
        return EK_PI_2_HIGH_F64 - (ek_asin_part_f64(x) - EK_PI_2_LOW_F64);
    }
    y = ek_asin_part_f64(ek_sqrt_f64(0.5 - 0.5 * a));
    return x > 0.0 ? 2.0 * y : 2.0 * (EK_PI_2_HIGH_F64 - (y - EK_PI_2_LOW_F64));
}

/* atan(x). Error below 2.10 ULP. */
static inline double ek_atan_f64(double x)
{
    const double a = ek_fabs_f64(x);
    const int swap = a > 1.0;
    const double most = swap ? a : 1.0, least = swap ? 1.0 : a;
    const int diagonal = least > 0.41421356237309503 * most;
    const int eighths = swap ? 2 - diagonal : diagonal;
    const double part = diagonal ? (least - most) / (least + most) : least / most;
    const double t = swap ? -part : part, z = t * t;
    const double base =
        eighths * 0.7853981633974483; /* exact or nearest, like the double of eighths * pi/4 */
    const double sum = base + t;
    double tail = t - (sum - base);
    tail += eighths * 3.061616997868383e-17 + t * z * ek_atan_poly_f64(z);
    return ek_copysign_f64(sum + tail, x);
}

#endif
