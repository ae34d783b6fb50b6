/* Minimax polynomials of the f32 math. Fitted by a script; do not edit. */
#ifndef EDGEKIT_MATH_POLY_F32_H
#define EDGEKIT_MATH_POLY_F32_H

#include <stdint.h>

/* exp(r) = 1 + r + r^2 p(r) for -0.3466 <= r <= 0.3466; error 2^-27.51 */
static inline float ek_exp_poly_f32(float r)
{
    float p = 0.00138327607f;
    p = p * r + 0.00836919621f;
    p = p * r + 0.0416681953f;
    p = p * r + 0.166665226f;
    return p * r + 0.49999994f;
}

/* 2^r = 1 + r p(r) for -0.5 <= r <= 0.5; error 2^-27.39 */
static inline float ek_exp2_poly_f32(float r)
{
    float p = 0.00015366725f;
    p = p * r + 0.00133926398f;
    p = p * r + 0.00961842574f;
    p = p * r + 0.0555035844f;
    p = p * r + 0.240226477f;
    return p * r + 0.693147182f;
}

/* log(1 + f) = f - f^2/2 + f^3 p(f) for -0.2929 <= f <= 0.4142; error 2^-27.31 */
static inline float ek_log_poly_f32(float f)
{
    float p = -0.0764512867f;
    p = p * f + 0.127662212f;
    p = p * f - 0.131585822f;
    p = p * f + 0.14201054f;
    p = p * f - 0.166234374f;
    p = p * f + 0.20001258f;
    p = p * f - 0.250008196f;
    return p * f + 0.333333313f;
}

/* tanh(x) = x + x z p(z), z = x^2 for 8.674e-19 <= z <= 0.81; error 2^-29.43 */
static inline float ek_tanh_poly_f32(float z)
{
    float p = -0.00045575056f;
    p = p * z + 0.00258352002f;
    p = p * z - 0.00826553442f;
    p = p * z + 0.0216641203f;
    p = p * z - 0.0539294779f;
    p = p * z + 0.133329809f;
    return p * z - 0.333333224f;
}

/* sinh(x) = x + x z p(z), z = x^2 for 8.674e-19 <= z <= 1.0; error 2^-31.62 */
static inline float ek_sinh_poly_f32(float z)
{
    float p = 2.7822125e-06f;
    p = p * z + 0.000198428956f;
    p = p * z + 0.00833331048f;
    return p * z + 0.166666672f;
}

/* erf(x) = x + x p(z), z = x^2 for 8.674e-19 <= z <= 1.0; error 2^-28.87 */
static inline float ek_erf_poly_f32(float z)
{
    float p = 7.80722548e-05f;
    p = p * z - 0.000799792353f;
    p = p * z + 0.00518716732f;
    p = p * z - 0.0268533491f;
    p = p * z + 0.112835787f;
    p = p * z - 0.37612626f;
    return p * z + 0.128379166f;
}

/* erf(t) = 1 - exp(p(t)) for 1.0 <= t <= 4.0; error 2^-31.26 */
static inline float ek_log_erfc_poly_f32(float t)
{
    float p = -2.00194499e-05f;
    p = p * t + 0.000421378791f;
    p = p * t - 0.00410459749f;
    p = p * t + 0.0249364041f;
    p = p * t - 0.10798467f;
    p = p * t - 0.633626759f;
    p = p * t - 1.12937069f;
    return p * t + 0.000143442958f;
}

/* sin(x) = x + x z p(z), z = x^2 for 8.674e-19 <= z <= 0.617; error 2^-32.52 */
static inline float ek_sin_poly_f32(float z)
{
    float p = 2.83254144e-06f;
    p = p * z - 0.000198530659f;
    p = p * z + 0.0083333794f;
    return p * z - 0.166666672f;
}

/* cos(x) = 1 - z/2 + z^2 p(z), z = x^2 for 8.674e-19 <= z <= 0.617; error 2^-32.99 */
static inline float ek_cos_poly_f32(float z)
{
    float p = 2.44323273e-05f;
    p = p * z - 0.00138873095f;
    return p * z + 0.0416666456f;
}

/* tan(x) = x + x z p(z), z = x^2 for 8.674e-19 <= z <= 0.617; error 2^-29.55 */
static inline float ek_tan_poly_f32(float z)
{
    float p = 0.00437249569f;
    p = p * z + 9.86204977e-05f;
    p = p * z + 0.0108271912f;
    p = p * z + 0.0212862808f;
    p = p * z + 0.0540589057f;
    p = p * z + 0.133326754f;
    return p * z + 0.333333492f;
}

/* asin(x) = x + x z p(z), z = x^2 for 8.674e-19 <= z <= 0.25; error 2^-27.62 */
static inline float ek_asin_poly_f32(float z)
{
    float p = 0.0421574451f;
    p = p * z + 0.0241853222f;
    p = p * z + 0.0454690382f;
    p = p * z + 0.0749531016f;
    return p * z + 0.166667521f;
}

/* atan(x) = x + x z p(z), z = x^2 for 8.674e-19 <= z <= 0.4445; error 2^-30.06 */
static inline float ek_atan_poly_f32(float z)
{
    float p = -0.0173112396f;
    p = p * z + 0.0508588888f;
    p = p * z - 0.0826011524f;
    p = p * z + 0.109552905f;
    p = p * z - 0.142695069f;
    p = p * z + 0.199991852f;
    return p * z - 0.333333194f;
}

/* log2(1 + f) = f (log2(e) + f p(f)) for -0.0472 <= f <= 0.0472; error 2^-38.67 */
/* f in units of 2^-31, p of 2^-31 */
static inline int32_t ek_pow_log2_poly(int32_t f)
{
    int32_t p = 443982692;
    p = (int32_t)((int64_t)p * f >> 31) - 517816430;
    p = (int32_t)((int64_t)p * f >> 31) + 619631182;
    p = (int32_t)((int64_t)p * f >> 31) - 774539552;
    p = (int32_t)((int64_t)p * f >> 31) + 1032721337;
    return (int32_t)((int64_t)p * f >> 31) - 1549082005;
}

/* 2^r = 1 + r p(r) for 9.095e-13 <= r <= 1.0; error 2^-33.56 */
/* r in units of 2^-32, p of 2^-31 */
static inline uint32_t ek_pow_exp2_poly(uint32_t r)
{
    uint32_t p = 46027u;
    p = (uint32_t)((uint64_t)p * r >> 32) + 308734u;
    p = (uint32_t)((uint64_t)p * r >> 32) + 2881726u;
    p = (uint32_t)((uint64_t)p * r >> 32) + 20646510u;
    p = (uint32_t)((uint64_t)p * r >> 32) + 119196130u;
    p = (uint32_t)((uint64_t)p * r >> 32) + 515882277u;
    return (uint32_t)((uint64_t)p * r >> 32) + 1488522244u;
}

/* c close to 16/i for i = 11 .. 23, in units of 2^-7 */
static inline uint32_t ek_pow_inverse(uint32_t i)
{
    static const uint8_t c[13] = {186, 171, 158, 146, 137, 128, 120, 114, 108, 102, 98, 93, 89};
    return c[i - 11u];
}

/* -log2(c) in units of 2^-55 */
static inline int64_t ek_pow_offset(uint32_t i)
{
    static const int64_t offset[13] = {-19425243366397198, -15054723442687634, -10944854914341850,
        -6839150501102515, -3531978018331053, 0, 3354619831377318, 6020771759500466, 8831108431363637,
        11802120862665521, 13881540819778149, 16603553652566770, 18888693799540316};
    return offset[i - 11u];
}

#endif
