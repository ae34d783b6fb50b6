/* Floats to integers without undefined behaviour: the fraction is cut off, what is out of range becomes the nearest
 * end, NaN becomes 0. And how floats of 8 bits and less are loaded and stored: loading decodes; formulas compute the
 * code themselves (ek_f32_to_f8e5m2), since there are several ways to do it. */
#ifndef EDGEKIT_CAST_H
#define EDGEKIT_CAST_H

#include "edgekit/math/float8.h"

#define EK_LOAD_f8e4m3fn(x) ek_f8e4m3fn_to_f32(x)
#define EK_LOAD_f8e4m3fnuz(x) ek_f8e4m3fnuz_to_f32(x)
#define EK_LOAD_f8e5m2(x) ek_f8e5m2_to_f32(x)
#define EK_LOAD_f8e5m2fnuz(x) ek_f8e5m2fnuz_to_f32(x)
#define EK_LOAD_f8e8m0(x) ek_f8e8m0_to_f32(x)
#define EK_LOAD_f4e2m1(x) ek_f4e2m1_to_f32(x)
#define EK_STORE_f8e4m3fn(x) (x)
#define EK_STORE_f8e4m3fnuz(x) (x)
#define EK_STORE_f8e5m2(x) (x)
#define EK_STORE_f8e5m2fnuz(x) (x)
#define EK_STORE_f8e8m0(x) (x)
#define EK_STORE_f4e2m1(x) (x)

static inline int32_t ek_f32_to_s32(float x)
{
    if (x >= 2147483648.0f)
        return INT32_MAX;
    return x >= -2147483648.0f ? (int32_t)x : x != x ? 0 : INT32_MIN;
}

static inline int64_t ek_f32_to_s64(float x)
{
    if (x >= 9223372036854775808.0f)
        return INT64_MAX;
    return x >= -9223372036854775808.0f ? (int64_t)x : x != x ? 0 : INT64_MIN;
}

/* Negative numbers wrap, as they do for the shorter types. */
static inline uint64_t ek_f32_to_u64(float x)
{
    if (x < 9223372036854775808.0f)
        return (uint64_t)ek_f32_to_s64(x);
    return x < 18446744073709551616.0f ? (uint64_t)x : x != x ? 0 : UINT64_MAX;
}

static inline int32_t ek_f64_to_s32(double x)
{
    if (x >= 2147483648.0)
        return INT32_MAX;
    return x >= -2147483648.0 ? (int32_t)x : x != x ? 0 : INT32_MIN;
}

static inline int64_t ek_f64_to_s64(double x)
{
    if (x >= 9223372036854775808.0)
        return INT64_MAX;
    return x >= -9223372036854775808.0 ? (int64_t)x : x != x ? 0 : INT64_MIN;
}

/* Negative numbers wrap, as they do for the shorter types. */
static inline uint64_t ek_f64_to_u64(double x)
{
    if (x < 9223372036854775808.0)
        return (uint64_t)ek_f64_to_s64(x);
    return x < 18446744073709551616.0 ? (uint64_t)x : x != x ? 0 : UINT64_MAX;
}

#endif
