/* The logarithms and the power of f64: log, log2, log1p, asinh, acosh, atanh, pow. */
#ifndef EDGEKIT_MATH_LOG_F64_H
#define EDGEKIT_MATH_LOG_F64_H

#include "edgekit/math/bits.h"
#include "edgekit/math/math_exp_f64.h"
#include "edgekit/math/math_poly_f64.h"
#include "edgekit/math/math_round_f64.h"

/* x = 2^k * (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), for a positive x. */
static inline int32_t ek_log_split_f64(double x, double *f)
{
    const uint64_t root_half = 0x3FE6A09E667F3BCDu;
    const int tiny = x < 2.2250738585072014e-308;
    const uint64_t u = ek_bits_f64(tiny ? x * 18014398509481984.0 : x) + (0x3FF0000000000000u - root_half);
    *f = ek_from_bits_f64((u & 0xFFFFFFFFFFFFFu) + root_half) - 1.0;
    return (int32_t)(u >> 52) - (tiny ? 1077 : 1023);
}

/* k ln 2 + log(1 + f) + tail, by s = f / (2 + f): log(1 + f) = log((1 + s) / (1 - s)). */
static inline double ek_log_join_f64(int32_t k, double f, double tail)
{
    const double whole = k * EK_LN2_HIGH_F64; /* exact */
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double half = 0.5 * f * f;
    const double high = whole + f;
    const double low = f - (high - whole);
    const double series = s * (half + z * (0.6666666666666666 + z * ek_log_poly_f64(z)));
    return high + (low + (series - half + (k * EK_LN2_LOW_F64 + tail)));
}

/* Whether x is a positive number; if not, the logarithm's value is in *y. */
static inline int ek_log_inside_f64(double x, double *y)
{
    *y = x < 0.0 ? ek_nan_f64() : x == 0.0 ? -ek_inf_f64() : x + x;
    return x > 0.0 && x < ek_inf_f64();
}

/* The natural logarithm. Error below 1.00 ULP. */
static inline double ek_log_f64(double x)
{
    double f, y;
    if (ek_log_inside_f64(x, &y)) {
        const int32_t k = ek_log_split_f64(x, &f);
        y = ek_log_join_f64(k, f, 0.0);
    }
    return y;
}

/* The logarithm to base 2, exact for powers of 2. Error below 2.10 ULP. */
static inline double ek_log2_f64(double x)
{
    double f, y;
    if (ek_log_inside_f64(x, &y)) {
        const int32_t k = ek_log_split_f64(x, &f);
        const double log1p = ek_log_join_f64(0, f, 0.0);
        /* The power of 2 stays exact; log2(e) = 1 + 0.44. */
        y = (k + log1p) + (log1p - ((k + log1p) - k) + log1p * 0.4426950408889634);
    }
    return y;
}

/* log(1 + high + low), |low| <= ULP(high), 1 + high > 0 and finite. */
static inline double ek_log1p_parts_f64(double high, double low)
{
    const double u = 1.0 + high;
    const double lost = (high > 1.0 ? (high - u) + 1.0 : (1.0 - u) + high) + low;
    double f;
    const int32_t k = ek_log_split_f64(u, &f);
    return ek_log_join_f64(k, f, lost / u);
}

/* log(1 + x) without cancellation. Error below 1.00 ULP. */
static inline double ek_log1p_f64(double x)
{
    double y;
    if (ek_fabs_f64(x) < 1e-16) {
        return x;
    }
    return ek_log_inside_f64(1.0 + x, &y) ? ek_log1p_parts_f64(x, 0.0) : y;
}

/* log(2 x), also where 2 x overflows. */
static inline double ek_log_double_f64(double x)
{
    double f;
    const int32_t k = ek_log_split_f64(x, &f);
    return x < ek_inf_f64() ? ek_log_join_f64(k + 1, f, 0.0) : x + x;
}

/* log(x + sqrt(x^2 + 1)) = log1p(x + x^2 / (1 + sqrt(x^2 + 1))). Error below 1.30 ULP. */
static inline double ek_asinh_f64(double x)
{
    const double a = ek_fabs_f64(x);
    double q, high;
    if (!(a < 1e18)) {
        return ek_copysign_f64(ek_log_double_f64(a), x);
    }
    q = a * a / (1.0 + ek_sqrt_f64(1.0 + a * a));
    high = a + q;
    return ek_copysign_f64(ek_log1p_parts_f64(high, (a - high) + q), x);
}

/* log(x + sqrt(x^2 - 1)) = log1p(t + sqrt(2 t + t^2)), t = x - 1. Error below 2.20 ULP. */
static inline double ek_acosh_f64(double x)
{
    double t, s, high;
    if (x < 1.0) {
        return ek_nan_f64();
    }
    if (!(x < 1e18)) {
        return ek_log_double_f64(x);
    }
    t = x - 1.0;
    s = ek_sqrt_f64(2.0 * t + t * t);
    high = s + t;
    return ek_log1p_parts_f64(high, (s - high) + t);
}

/* log1p(2 x / (1 - x)) / 2. Error below 1.80 ULP. */
static inline double ek_atanh_f64(double x)
{
    const double a = ek_fabs_f64(x);
    double d, t;
    if (!(a < 1.0)) {
        return a == 1.0 ? ek_copysign_f64(ek_inf_f64(), x) : ek_nan_f64();
    }
    d = 1.0 - a;
    t = 2.0 * a / d;
    return ek_copysign_f64(0.5 * ek_log1p_parts_f64(t, -t * ((1.0 - d) - a) / d), x);
}

/* x * y = result + *low, exact but for underflow: the halves have 26 bits. */
static inline double ek_product_f64(double x, double y, double *low)
{
    const double p = x * y;
    const double xh = ek_from_bits_f64(ek_bits_f64(x) & 0xFFFFFFFFF8000000u), xl = x - xh;
    const double yh = ek_from_bits_f64(ek_bits_f64(y) & 0xFFFFFFFFF8000000u), yl = y - yh;
    *low = (((xh * yh - p) + xh * yl) + xl * yh) + xl * yl;
    return p;
}

/* log(x) = result + *low to 2^-65, for a positive, finite x: ek_log_join_f64 in pairs of doubles. */
static inline double ek_log_pair_f64(double x, double *low)
{
    double f, p, pl, s, sl, z, zl, c, cl, t, tl, sum, rest;
    const int32_t k = ek_log_split_f64(x, &f);
    const double d = 2.0 + f, dl = (2.0 - d) + f;
    s = f / d;
    p = ek_product_f64(s, d, &pl);
    sl = (((f - p) - pl) - s * dl) / d;
    z = ek_product_f64(s, s, &zl);
    zl += 2.0 * s * sl;
    /* c = 2/3 + z (...), t = s z c */
    p = z * ek_log_poly_f64(z);
    c = 0.6666666666666666 + p;
    cl = ((0.6666666666666666 - c) + p) + 3.700743415417188e-17;
    t = ek_product_f64(z, c, &tl);
    tl += z * cl + zl * c;
    p = ek_product_f64(s, t, &pl);
    pl += s * tl + sl * t;
    /* k ln 2 + 2 s + p, largest first */
    t = k * EK_LN2_HIGH_F64;
    sum = t + 2.0 * s;
    rest = k ? (t - sum) + 2.0 * s : 0.0;
    t = sum + p;
    rest += (sum - t) + p;
    rest += k * EK_LN2_LOW_F64 + (2.0 * sl + pl);
    sum = t + rest;
    *low = rest - (sum - t);
    return sum;
}

/* x to the power y, with all special cases of pow in C. Error below 1.00 ULP. */
static inline double ek_pow_f64(double x, double y)
{
    const double a = ek_fabs_f64(x), b = ek_fabs_f64(y);
    const int whole = ek_trunc_f64(b) == b;
    const int odd = b < 9007199254740992.0 && whole && ((int64_t)b & 1);
    const double sign = odd ? ek_copysign_f64(1.0, x) : 1.0;
    double c, l, ll, e, el;
    int32_t n;
    if (y == 0.0 || x == 1.0) {
        return 1.0;
    }
    if (x != x || y != y) {
        return x + y;
    }
    if (a == 1.0 && whole) {
        return sign;
    }
    if (a == 0.0 || a == ek_inf_f64() || b == ek_inf_f64()) {
        return sign * (ek_signbit_f64(y) != (a < 1.0) ? 0.0 : ek_inf_f64());
    }
    if (x < 0.0 && !whole) {
        return ek_nan_f64();
    }
    c = b < 1e20 ? y : ek_copysign_f64(1e20, y); /* beyond, every power overflows or vanishes */
    l = ek_log_pair_f64(a, &ll);
    e = ek_product_f64(c, l, &el);
    el += c * ll;
    if (!(ek_fabs_f64(e) < 760.0)) {
        return sign * (e < 0.0 ? 0.0 : ek_inf_f64());
    }
    l = ek_exp_parts_f64(e, el, &n);
    return sign * ek_scale_f64(l, n);
}

#endif
