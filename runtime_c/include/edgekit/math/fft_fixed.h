/* The arithmetic of Fourier transforms, by the type of products: Q15 in 32 bits, Q31 in 64 bits, float32. */
#ifndef EDGEKIT_FFT_FIXED_H
#define EDGEKIT_FFT_FIXED_H

#include <stdint.h>

/* A product as a number of the type, halves up; its caller makes it wrap. */
static inline int32_t ek_fft_round_s32(int32_t x)
{
    return (x + (1 << 14)) >> 15;
}

static inline int64_t ek_fft_round_s64(int64_t x)
{
    return (x + ((int64_t)1 << 30)) >> 31;
}

static inline float ek_fft_round_f32(float x)
{
    return x;
}

/* A number divided by a radix. */
static inline int32_t ek_fft_divide_s32(int32_t x, int32_t by)
{
    return ek_fft_round_s32(x * (INT16_MAX / by));
}

static inline int64_t ek_fft_divide_s64(int64_t x, int32_t by)
{
    const int64_t share = INT32_MAX / by;
    return ek_fft_round_s64(x * share);
}

static inline float ek_fft_divide_f32(float x, int32_t by)
{
    (void)by;
    return x;
}

static inline int32_t ek_fft_half_s32(int32_t x)
{
    return x >> 1;
}

/* A sum that has left 32 bits has wrapped. */
static inline int64_t ek_fft_half_s64(int64_t x)
{
    return (int32_t)x >> 1;
}

static inline float ek_fft_half_f32(float x)
{
    return x * 0.5f;
}

#endif
