/* What kernels with the DSP instructions of Cortex-M4, M7 and M33 share beside rules: turns of loops, copies, bounds. */
#ifndef EDGEKIT_COPIES_DSP_H
#define EDGEKIT_COPIES_DSP_H

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
