/* The bits of floats: casts that are defined behaviour, classification, signs. */
#ifndef EDGEKIT_BITS_H
#define EDGEKIT_BITS_H

#include <stdint.h>

#if defined(__FAST_MATH__) && !defined(EK_ALLOW_FAST_MATH)
#error "EdgeKit's float math needs IEEE arithmetic: build without -ffast-math (or define EK_ALLOW_FAST_MATH)"
#endif

/* gcc computes in double for s390x, and in 80 bits without SSE, where it is asked for C and nothing else. */
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "EdgeKit needs floats as they are stored: build with -fexcess-precision=fast, or -mfpmath=sse -msse2"
#endif

/* The builtin is expanded in place even by -ffreestanding, where a plain memcpy would be a call. */
#if defined(__GNUC__)
#define EK_COPY_BITS(to, from) (void)__builtin_memcpy(&(to), &(from), sizeof(to))
#else
#include <string.h>
#define EK_COPY_BITS(to, from) (void)memcpy(&(to), &(from), sizeof(to))
#endif

static inline uint32_t ek_bits_f32(float x)
{
    uint32_t u;
    EK_COPY_BITS(u, x);
    return u;
}

static inline float ek_from_bits_f32(uint32_t u)
{
    float x;
    EK_COPY_BITS(x, u);
    return x;
}

static inline uint64_t ek_bits_f64(double x)
{
    uint64_t u;
    EK_COPY_BITS(u, x);
    return u;
}

static inline double ek_from_bits_f64(uint64_t u)
{
    double x;
    EK_COPY_BITS(x, u);
    return x;
}

static inline float ek_inf_f32(void)
{
    return ek_from_bits_f32(0x7F800000u);
}

static inline float ek_nan_f32(void)
{
    return ek_from_bits_f32(0x7FC00000u);
}

static inline double ek_inf_f64(void)
{
    return ek_from_bits_f64(0x7FF0000000000000u);
}

static inline double ek_nan_f64(void)
{
    return ek_from_bits_f64(0x7FF8000000000000u);
}

static inline int ek_isnan_f32(float x)
{
    return x != x;
}

static inline int ek_isnan_f64(double x)
{
    return x != x;
}

static inline int ek_isinf_f32(float x)
{
    return (ek_bits_f32(x) & 0x7FFFFFFFu) == 0x7F800000u;
}

static inline int ek_isinf_f64(double x)
{
    return (ek_bits_f64(x) & 0x7FFFFFFFFFFFFFFFu) == 0x7FF0000000000000u;
}

static inline int ek_signbit_f32(float x)
{
    return (int)(ek_bits_f32(x) >> 31);
}

static inline int ek_signbit_f64(double x)
{
    return (int)(ek_bits_f64(x) >> 63);
}

/* |x|. Exact. */
static inline float ek_fabs_f32(float x)
{
    return ek_from_bits_f32(ek_bits_f32(x) & 0x7FFFFFFFu);
}

/* |x|. Exact. */
static inline double ek_fabs_f64(double x)
{
    return ek_from_bits_f64(ek_bits_f64(x) & 0x7FFFFFFFFFFFFFFFu);
}

/* |x| with the sign of y. */
static inline float ek_copysign_f32(float x, float y)
{
    return ek_from_bits_f32((ek_bits_f32(x) & 0x7FFFFFFFu) | (ek_bits_f32(y) & 0x80000000u));
}

static inline double ek_copysign_f64(double x, double y)
{
    return ek_from_bits_f64((ek_bits_f64(x) & 0x7FFFFFFFFFFFFFFFu) | (ek_bits_f64(y) & 0x8000000000000000u));
}

/* condition ? x : y for a condition of 0 or 1, without a branch, so that loops over the caller vectorise. */
static inline uint32_t ek_select_u32(int condition, uint32_t x, uint32_t y)
{
    const uint32_t mask = 0u - (uint32_t)condition;
    return (x & mask) | (y & ~mask);
}

static inline float ek_select_f32(int condition, float x, float y)
{
    return ek_from_bits_f32(ek_select_u32(condition, ek_bits_f32(x), ek_bits_f32(y)));
}

/* 2^n for a normal result: -126 <= n <= 127. */
static inline float ek_pow2_f32(int32_t n)
{
    return ek_from_bits_f32((uint32_t)(n + 127) << 23);
}

/* 2^n for a normal result: -1022 <= n <= 1023. */
static inline double ek_pow2_f64(int32_t n)
{
    return ek_from_bits_f64((uint64_t)(uint32_t)(n + 1023) << 52);
}

#endif
