/* Elementwise int8 with DSP instructions: four numbers that lie side by side at once. */
#ifndef EDGEKIT_ELEMENTWISE_DSP_H
#define EDGEKIT_ELEMENTWISE_DSP_H

#include "edgekit/simd/cortex_m/fixed_dsp.h"

/* The 16-bit halves of words: bytes 0 and 2, bytes 1 and 3, and numbers added to them. %0 is the result, %1 what is added
 * to both halves, %2 the word. In what follows %0 is the result, %1 a, %2 b, and %3 c where there is one. */
struct ek_four {
    uint32_t even;
    uint32_t odd;
};

static inline struct ek_four ek_four_bytes(const int8_t *from, const uint32_t add)
{
    uint32_t word;
    struct ek_four four;
    __builtin_memcpy(&word, from, 4);
    __asm("sxtab16 %0, %1, %2" : "=r"(four.even) : "r"(add), "r"(word));
    __asm("sxtab16 %0, %1, %2, ror #8" : "=r"(four.odd) : "r"(add), "r"(word));
    return four;
}

/* Bytes 0 and 2, and 1 and 3: as above, without a register for what is added to them. %0 is the result, %1 the word. */
static inline struct ek_four ek_four_signed(const int8_t *from)
{
    uint32_t word;
    struct ek_four four;
    __builtin_memcpy(&word, from, 4);
    __asm("sxtb16 %0, %1" : "=r"(four.even) : "r"(word));
    __asm("sxtb16 %0, %1, ror #8" : "=r"(four.odd) : "r"(word));
    return four;
}

/* Four products more. %0 the sum, %1 two numbers of a row of weights, %2 those of x. */
static inline int32_t ek_four_products(const int8_t *w, const struct ek_four x, int32_t sum)
{
    const struct ek_four four = ek_four_signed(w);
    __asm("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(four.even), "r"(x.even));
    __asm("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(four.odd), "r"(x.odd));
    return sum;
}

/* Products of halves, b bottom and t top, and what is added to them. */
static inline int32_t ek_product_bb(uint32_t a, uint32_t b, int32_t c)
{
    int32_t y;
    __asm("smlabb %0, %1, %2, %3" : "=r"(y) : "r"(a), "r"(b), "r"(c));
    return y;
}

static inline int32_t ek_product_tt(uint32_t a, uint32_t b, int32_t c)
{
    int32_t y;
    __asm("smlatt %0, %1, %2, %3" : "=r"(y) : "r"(a), "r"(b), "r"(c));
    return y;
}

/* The upper 32 of 48 bits of a times a half of b, and what is added to them. */
static inline int32_t ek_product_wb(int32_t a, uint32_t b, int32_t c)
{
    int32_t y;
    __asm("smlawb %0, %1, %2, %3" : "=r"(y) : "r"(a), "r"(b), "r"(c));
    return y;
}

static inline int32_t ek_product_wt(int32_t a, uint32_t b, int32_t c)
{
    int32_t y;
    __asm("smlawt %0, %1, %2, %3" : "=r"(y) : "r"(a), "r"(b), "r"(c));
    return y;
}

/* Of each half the first number where that of a is not below zero, else the second. %1 a, %2 zero: the sum
 * sets a flag for each byte, by which sel takes those of %3 or %4. */
static inline uint32_t ek_by_sign(uint32_t a, uint32_t positive, uint32_t negative)
{
    uint32_t y;
    __asm("sadd16 %0, %1, %2\n"
          "sel %0, %3, %4"
        : "=&r"(y)
        : "r"(a), "r"(0), "r"(positive), "r"(negative));
    return y;
}

/* The lower halves of a and b as reals times scale; returns what is behind them. s0 and s1 are the
 * numbers; %0 where they go, %1 and %2 the words, %3 the scale. */
static inline float *ek_two_reals(float *y, uint32_t a, uint32_t b, float scale)
{
    __asm volatile("vmov s0, s1, %1, %2\n"
                   "vcvt.f32.s16 s0, s0, #0\n"
                   "vcvt.f32.s16 s1, s1, #0\n"
                   "vmul.f32 s0, s0, %3\n"
                   "vmul.f32 s1, s1, %3\n"
                   "vstmia %0!, {s0, s1}\n"
        : "+r"(y)
        : "r"(a), "r"(b), "t"(scale)
        : "s0", "s1", "memory");
    return y;
}

/* Products of both halves, and what is added to them. */
static inline int32_t ek_products(uint32_t a, uint32_t b, int32_t c)
{
    int32_t y;
    __asm("smlad %0, %1, %2, %3" : "=r"(y) : "r"(a), "r"(b), "r"(c));
    return y;
}

/* Two numbers of 16 bits: the lower halves of two words, or the upper ones. */
static inline uint32_t ek_lower_halves(uint32_t a, uint32_t b)
{
    uint32_t y;
    __asm("pkhbt %0, %1, %2, lsl #16" : "=r"(y) : "r"(a), "r"(b));
    return y;
}

static inline uint32_t ek_upper_halves(uint32_t a, uint32_t b)
{
    uint32_t y;
    __asm("pkhtb %0, %2, %1, asr #16" : "=r"(y) : "r"(a), "r"(b));
    return y;
}

/* a - b as the nearest int8, or int16. */
static inline int8_t ek_byte_difference(int32_t a, int32_t b)
{
    int32_t y;
    __asm("qsub %0, %1, %2" : "=r"(y) : "r"(a), "r"(b) : "cc");
    return ek_nearest_s8(y);
}

static inline int16_t ek_half_difference(int32_t a, int32_t b)
{
    int32_t y;
    __asm("qsub %0, %1, %2" : "=r"(y) : "r"(a), "r"(b) : "cc");
    return ek_nearest_s16(y);
}

/* a + b as the nearest int8, or int16. */
static inline int8_t ek_byte_sum(int32_t a, int32_t b)
{
    int32_t y;
    __asm("qadd %0, %1, %2" : "=r"(y) : "r"(a), "r"(b) : "cc");
    return ek_nearest_s8(y);
}

static inline int16_t ek_half_sum(int32_t a, int32_t b)
{
    int32_t y;
    __asm("qadd %0, %1, %2" : "=r"(y) : "r"(a), "r"(b) : "cc");
    return ek_nearest_s16(y);
}

#endif
