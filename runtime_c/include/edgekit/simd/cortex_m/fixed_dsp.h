/* What kernels with the DSP instructions of Cortex-M4, M7 and M33 share: requantization rules, copies, bounds. */
#ifndef EDGEKIT_FIXED_DSP_H
#define EDGEKIT_FIXED_DSP_H

#include "edgekit/simd/cortex_m/assembly.h"
#include "edgekit/types.h"

/* A turn of a loop over fours of numbers: four of them, or two where code is to be small; and the bits of their count. Rows
 * are long, and take eight. */
#ifdef __OPTIMIZE_SIZE__
#define EK_TURN(four) "2:\n" four "3:\n" four
#define EK_TURN_BITS "#1"
#define EK_ROW_TURN(four) EK_TURN(four)
#define EK_ROW_TURN_BITS EK_TURN_BITS
#else
#define EK_TURN(four) "2:\n" four "3:\n" four four four
#define EK_TURN_BITS "#2"
#define EK_ROW_TURN(four) "2:\n" four "3:\n.rept 7\n" four ".endr\n"
#define EK_ROW_TURN_BITS "#3"
#endif

/* The constants of a rule for doubled sums. `e` is packed as -e - 1, so that of rule E is -shift - 1. */
static inline void ek_requantize_tfl_constants(const int8_t *e, int32_t zero, int32_t *offset, int32_t *shift)
{
    (void)e;
    *offset = 2 * zero + 1;
    *shift = 0;
}

static inline void ek_requantize_once_constants(
    const int8_t *e, int32_t zero, int32_t *offset, int32_t *shift)
{
    ek_requantize_tfl_constants(e, zero, offset, shift);
}

static inline void ek_requantize_e_constants(const int8_t *e, int32_t zero, int32_t *offset, int32_t *shift)
{
    *shift = -e[0] - 32;
    *offset = zero * (1 << *shift) + (1 << (*shift - 1));
}

/* (a b + 2^31) >> 32 */
static inline int32_t ek_high_word(int32_t a, int32_t b)
{
    int32_t y;
    __asm("smmulr %0, %1, %2" : "=r"(y) : "r"(a), "r"(b));
    return y;
}

/* Rule E with one multiplier for all, even where products leave 32 bits. */
struct ek_scale {
    int32_t m;
    int32_t up; /* the sum goes to the left, where the shift is below 33 */
    int32_t limit; /* of the sum: what is beyond it is beyond int8 */
    int32_t offset; /* to the high word of the product */
    int32_t down;
};

static inline struct ek_scale ek_scale_e(const int32_t m, const int32_t shift, const int32_t zero)
{
    const int32_t up = shift < 33 ? 33 - shift : 0, down = shift + up - 32;
    const struct ek_scale scale = {m, up, INT32_MAX >> up, zero * (1 << down) + (1 << (down - 1)), down};
    return scale;
}

/* The high word of a product, and what is added to it. */
static inline int32_t ek_high_product_and(int32_t a, int32_t b, int32_t c)
{
    int32_t y;
    __asm("smmla %0, %1, %2, %3" : "=r"(y) : "r"(a), "r"(b), "r"(c));
    return y;
}

/* Of a sum that does not go to the left. */
static inline int8_t ek_scaled_small_s8(int32_t sum, const struct ek_scale *p)
{
    int32_t y = ek_high_product_and(sum, p->m, p->offset) >> p->down;
    __asm("ssat %0, #8, %0" : "+r"(y) : : "cc");
    return (int8_t)y;
}

static inline int8_t ek_scaled_s8(int32_t sum, const struct ek_scale *p)
{
    const int32_t within = sum > p->limit ? p->limit : sum < -p->limit ? -p->limit : sum;
    return ek_scaled_small_s8((int32_t)((uint32_t)within << p->up), p);
}

/* a / 2, rounded down, as the nearest int8. */
static inline int8_t ek_half_s8(int32_t a)
{
    int32_t y;
    __asm("ssat %0, #8, %1, asr #1" : "=r"(y) : "r"(a) : "cc");
    return (int8_t)y;
}

/* a, as the nearest int8. */
static inline int8_t ek_nearest_s8(int32_t a)
{
    int32_t y;
    __asm("ssat %0, #8, %1" : "=r"(y) : "r"(a) : "cc");
    return (int8_t)y;
}

/* a, as the nearest int16. */
static inline int16_t ek_nearest_s16(int32_t a)
{
    int32_t y;
    __asm("ssat %0, #16, %1" : "=r"(y) : "r"(a) : "cc");
    return (int16_t)y;
}

/* How two tensors are added by rule E: a sum of two products. */
struct ek_products {
    int32_t first;
    int32_t second;
    int32_t constant;
    int32_t shift;
};

/* Four a turn: compilers for small processors do not unroll loops. */
static EK_SHARED void ek_add_products(
    const int8_t *a, const int8_t *b, int8_t *y, int32_t count, const struct ek_products *p)
{
    const int32_t first = p->first, second = p->second, constant = p->constant, shift = p->shift;
    for (; count >= 4; count -= 4, a += 4, b += 4, y += 4) {
        const int32_t u = a[0] * first + b[0] * second + constant,
                      v = a[1] * first + b[1] * second + constant;
        const int32_t w = a[2] * first + b[2] * second + constant,
                      z = a[3] * first + b[3] * second + constant;
        y[0] = ek_nearest_s8(u >> shift);
        y[1] = ek_nearest_s8(v >> shift);
        y[2] = ek_nearest_s8(w >> shift);
        y[3] = ek_nearest_s8(z >> shift);
    }
    for (; count > 0; count--)
        *y++ = ek_nearest_s8((*a++ * first + *b++ * second + constant) >> shift);
}

/* How two tensors are added by TFLite's rule where one has the larger scale, by which it is halved: exactly, by a shift. */
struct ek_halves {
    int32_t large_zero;
    int32_t small_zero;
    int32_t m; /* multiplier and exponent of the other one */
    int32_t e;
    int32_t multiplier; /* of the sum */
    int32_t exponent;
    int32_t zero;
};

static EK_SHARED void ek_add_halves(
    const int8_t *large, const int8_t *small, int8_t *y, int32_t count, const struct ek_halves *p)
{
    const int32_t large_zero = p->large_zero * (1 << 20), small_zero = p->small_zero * (1 << 21);
    const int32_t t = -p->e, half = 1 << (t - 1), offset = 2 * p->zero + 1, shift = -p->exponent - 1;
    const int8_t *const end = y + count;
    while (y != end) {
        /* Twice the halved sum: ek_high_word halves. */
        const int32_t u = *large++ * (1 << 20) - large_zero;
        int32_t v = ek_high_word(*small++ * (1 << 21) - small_zero, p->m);
        v = (v + (v >> 31) + half) >> t;
        const int32_t z = ek_high_word(u + 2 * v, p->multiplier);
        *y++ = ek_half_s8(((z + (z >> 31)) >> shift) + offset);
    }
}

/* Puts bytes between bounds; those of int8 are there already. */
static inline void ek_clamp_bytes(int8_t *y, int32_t count, int32_t lo, int32_t hi)
{
    if (lo > -128 || hi < 127)
        for (int32_t i = 0; i < count; i++)
            y[i] = (int8_t)(y[i] < lo ? lo : y[i] > hi ? hi : y[i]);
}

/* The same of int16. */
static inline void ek_clamp_halves(int16_t *y, int32_t count, int32_t lo, int32_t hi)
{
    if (lo > -32768 || hi < 32767)
        for (int32_t i = 0; i < count; i++)
            y[i] = (int16_t)(y[i] < lo ? lo : y[i] > hi ? hi : y[i]);
}

/* Of one or the other, by their bytes. */
static inline void ek_clamp_numbers(void *y, int32_t count, int32_t lo, int32_t hi, const uint32_t bytes)
{
    if (bytes == 1)
        ek_clamp_bytes((int8_t *)y, count, lo, hi);
    else
        ek_clamp_halves((int16_t *)y, count, lo, hi);
}

/* Copies bytes and returns what is behind them; words need not be aligned. */
static EK_SHARED int8_t *ek_copy_bytes(int8_t *to, const int8_t *from, int32_t count)
{
    uint32_t words[4];
    for (; count >= 16; count -= 16, to += 16, from += 16) {
        __builtin_memcpy(words, from, 16);
        __builtin_memcpy(to, words, 16);
    }
    for (; count >= 4; count -= 4, to += 4, from += 4) {
        __builtin_memcpy(words, from, 4);
        __builtin_memcpy(to, words, 4);
    }
    for (; count > 0; count--)
        *to++ = *from++;
    return to;
}

/* Copies bytes, and up to three more: whole words. */
static inline void ek_copy_words(int8_t *to, const int8_t *from, int32_t count)
{
    uint32_t word;
    if ((((uintptr_t)to | (uintptr_t)from) & 3) == 0)
        for (; count > 12; count -= 16)
            __asm volatile("ldm %0!, {r4, r5, r6, r8}\n stm %1!, {r4, r5, r6, r8}"
                : "+r"(from), "+r"(to)
                :
                : "r4", "r5", "r6", "r8", "memory");
    for (; count > 0; count -= 4, to += 4, from += 4) {
        __builtin_memcpy(&word, from, 4);
        __builtin_memcpy(to, &word, 4);
    }
}

/* Writes the same byte so many times and returns what is behind them. */
static EK_SHARED int8_t *ek_fill_bytes(int8_t *to, int32_t byte, int32_t count)
{
    const uint32_t word = (uint32_t)(byte & 255) * 0x01010101u;
    for (; count >= 4; count -= 4, to += 4)
        __builtin_memcpy(to, &word, 4);
    for (; count > 0; count--) {
        *to++ = (int8_t)byte;
        __asm("" : "+r"(to)); /* else compilers make vectors of up to three bytes, and take stack for them */
    }
    return to;
}

#endif
