/* Minimax polynomials of the f32 math functions. Written by scripts/fit_math.py; do not edit. */
#ifndef EDGEKIT_MATH_POLY_F32_H
#define EDGEKIT_MATH_POLY_F32_H

/* exp(r) = 1 + r + r^2 p(r) for -0.3466 <= r <= 0.3466; error 2^-27.53 */
static inline float ek_exp_poly_f32(float r)
{
    float p = 0.00138343114f;
    p = p * r + 0.00836932007f;
    p = p * r + 0.0416681767f;
    p = p * r + 0.166665211f;
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

/* tanh(x) = x + x z p(z), z = x^2 for 9.095e-13 <= z <= 0.81; error 2^-29.43 */
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

/* sinh(x) = x + x z p(z), z = x^2 for 9.095e-13 <= z <= 1.0; error 2^-31.62 */
static inline float ek_sinh_poly_f32(float z)
{
    float p = 2.7822125e-06f;
    p = p * z + 0.000198428956f;
    p = p * z + 0.00833331048f;
    return p * z + 0.166666672f;
}

/* erf(x) = x + x p(z), z = x^2 for 9.095e-13 <= z <= 0.9025; error 2^-29.76 */
static inline float ek_erf_poly_f32(float z)
{
    float p = 8.0028738e-05f;
    p = p * z - 0.000805082382f;
    p = p * z + 0.00519246189f;
    p = p * z - 0.0268557407f;
    p = p * z + 0.112836257f;
    p = p * z - 0.376126289f;
    return p * z + 0.128379166f;
}

/* erf(x) = 1 - exp(p(x)) for 0.95 <= x <= 4.0; error 2^-30.67 */
static inline float ek_log_erfc_poly_f32(float x)
{
    float p = 7.36182187e-07f;
    p = p * x - 3.15139732e-05f;
    p = p * x + 0.000497306464f;
    p = p * x - 0.00438232953f;
    p = p * x + 0.02555288f;
    p = p * x - 0.108836465f;
    p = p * x - 0.632910132f;
    p = p * x - 1.12970686f;
    return p * x + 0.00021086444f;
}

/* sin(r) = r + r z p(z), z = r^2 for 9.095e-13 <= z <= 0.617; error 2^-32.52 */
static inline float ek_sin_poly_f32(float z)
{
    float p = 2.83254144e-06f;
    p = p * z - 0.000198530659f;
    p = p * z + 0.0083333794f;
    return p * z - 0.166666672f;
}

/* cos(r) = 1 - z/2 + z^2 p(z), z = r^2 for 9.095e-13 <= z <= 0.617; error 2^-32.99 */
static inline float ek_cos_poly_f32(float z)
{
    float p = 2.44323273e-05f;
    p = p * z - 0.00138873095f;
    return p * z + 0.0416666456f;
}

/* tan(r) = r + r z p(z), z = r^2 for 9.095e-13 <= z <= 0.617; error 2^-29.55 */
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

/* asin(x) = x + x z p(z), z = x^2 for 9.095e-13 <= z <= 0.25; error 2^-27.62 */
static inline float ek_asin_poly_f32(float z)
{
    float p = 0.0421574451f;
    p = p * z + 0.0241853222f;
    p = p * z + 0.0454690382f;
    p = p * z + 0.0749531016f;
    return p * z + 0.166667521f;
}

/* atan(t) = t + t z p(z), z = t^2 for 9.095e-13 <= z <= 0.1724; error 2^-30.14 */
static inline float ek_atan_poly_f32(float z)
{
    float p = -0.0603469796f;
    p = p * z + 0.105766989f;
    p = p * z - 0.142412707f;
    p = p * z + 0.199983582f;
    return p * z - 0.333333135f;
}

#endif
