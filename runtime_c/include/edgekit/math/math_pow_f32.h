/* x to the power y in f32, in integers: log2(x) to 36 bits, times y, then 2 to that power, rounded once. */
#ifndef EDGEKIT_MATH_POW_F32_H
#define EDGEKIT_MATH_POW_F32_H

#include "edgekit/math/bits.h"
#include "edgekit/math/math_poly_f32.h"

/* log2(a) for a positive, finite a, in units of 2^-*unit: 55, or 66 near 1, where the logarithm is small.
 * a = 2^k m with sqrt(1/2) <= m < sqrt(2), and m = (1 + f) / c with c from a table, so that
 * log2(a) = k - log2(c) + log2(1 + f). Negative numbers are shifted right: compilers keep their sign. */
static inline int64_t ek_pow_log2_f32(float a, int32_t *unit)
{
    const int tiny = a < 1.17549435e-38f;
    const uint32_t u = ek_bits_f32(tiny ? a * 16777216.0f : a) + (0x3F800000u - 0x3F3504F3u);
    const int32_t k = (int32_t)(u >> 23) - (tiny ? 151 : 127);
    const uint32_t m = (u & 0x7FFFFFu) + 0x3F3504F3u;
    const uint32_t whole = ((m & 0x7FFFFFu) | 0x800000u) << (m >> 23 & 1u); /* m in units of 2^-24 */
    const uint32_t cell = (whole + 0x80000u) >> 20;
    const int32_t f = (int32_t)(whole * ek_pow_inverse(cell) - 0x80000000u); /* exact, in units of 2^-31 */
    /* log2(e) = 0x5C551D94AE0C / 2^46, to 2^-35 after the shift */
    const int64_t slope = (int64_t)(0x5C551D94AE0C >> 11) + ((int64_t)f * ek_pow_log2_poly(f) >> 27);
    const int64_t fraction = f * slope; /* in units of 2^-66 */
    *unit = k == 0 && cell == 16u ? 66 : 55;
    return *unit == 66 ? fraction : k * ((int64_t)1 << 55) + ek_pow_offset(cell) + (fraction >> 11);
}

/* 2^e with sign, e in units of 2^-32. */
static inline float ek_pow_exp2_f32(int64_t e, uint32_t sign)
{
    const int32_t n = (int32_t)(e >> 32);
    const uint32_t r = (uint32_t)((uint64_t)e & 0xFFFFFFFFu);
    /* 2^r in units of 2^-31: 32 bits, of which a normal float keeps 24 and a subnormal one fewer. */
    const uint64_t whole = ((uint64_t)1 << 31) + ((uint64_t)r * ek_pow_exp2_poly(r) >> 32);
    const uint32_t lost = n < -126 ? (uint32_t)(-126 - n) : 0u;
    const uint32_t kept = lost < 32u ? (uint32_t)((whole + ((uint64_t)128 << lost)) >> (8u + lost)) : 0u;
    const uint32_t exponent =
        n < -126 ? 0u : (uint32_t)(n + 126) << 23; /* the leading bit of `kept` adds 1 */
    return ek_from_bits_f32(sign | (n > 127 ? 0x7F800000u : exponent + kept));
}

/* x to the power y, with all special cases of powf in C. Error below 0.60 ULP. */
static inline float ek_pow_f32(float x, float y)
{
    const float a = ek_fabs_f32(x), b = ek_fabs_f32(y);
    const int whole = b >= 8388608.0f || (float)(int32_t)(b < 8388608.0f ? b : 0.0f) == b;
    const int odd = b < 16777216.0f && whole && ((int32_t)b & 1);
    const uint32_t sign = odd ? ek_bits_f32(x) & 0x80000000u : 0u;
    const int down = ek_signbit_f32(y) != (a < 1.0f); /* the power is below 1 */
    uint32_t factor, y_exponent;
    uint64_t size, product;
    int64_t logarithm, e;
    int32_t unit, shift;
    if (y == 0.0f || x == 1.0f) {
        return 1.0f;
    }
    if (x != x || y != y) {
        return x + y;
    }
    if (a == 1.0f && whole) { /* infinity is whole, too */
        return odd ? x : 1.0f;
    }
    if (a == 0.0f || a == ek_inf_f32() || b == ek_inf_f32()) {
        return ek_from_bits_f32(sign | (down ? 0u : 0x7F800000u));
    }
    if (x < 0.0f && !whole) {
        return ek_nan_f32();
    }
    logarithm = ek_pow_log2_f32(a, &unit);
    size = logarithm < 0 ? (uint64_t)0 - (uint64_t)logarithm : (uint64_t)logarithm;
    /* b = factor * 2^(y_exponent - 150); the product loses its 24 last bits. */
    y_exponent = ek_bits_f32(b) >> 23;
    factor = y_exponent ? (ek_bits_f32(b) & 0x7FFFFFu) | 0x800000u : ek_bits_f32(b);
    product = ((size >> 32) * factor << 8) + ((size & 0xFFFFFFFFu) * factor >> 24);
    /* To units of 2^-32, at most 2^40: the power is far outside the floats. There is always where the product would
     * be shifted to the left: y is 2^22 at least, 2^33 near x = 1, and log2(x) 2^-5, or 2^-24. */
    shift = (int32_t)(y_exponent ? y_exponent : 1u) - 150 + 24 - unit + 32;
    if (shift > 0) {
        product = (uint64_t)1 << 40;
    } else {
        product = shift > -64 ? product >> -shift : 0u;
        product = product >> 40 ? (uint64_t)1 << 40 : product;
    }
    e = down ? -(int64_t)product : (int64_t)product;
    return ek_pow_exp2_f32(e, sign);
}

#endif
