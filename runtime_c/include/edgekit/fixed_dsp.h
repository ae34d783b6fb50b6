/* Sums of products of bytes with the DSP instructions of Cortex-M4, M7 and M33, requantized by the rules of fixed.h.
 *
 * Eight outputs stay in r4 to r11. Four bytes of x are spread to 16 bits, the even ones in r2, the odd ones in r3;
 * weights lie in 16 bits in the same order, so that each SMLAD adds two products. Sums and biases are doubled:
 * (acc m + 2^30) >> 31 is then the rounded high word of a product, one SMMULR.
 * stack 76 */
#ifndef EDGEKIT_FIXED_DSP_H
#define EDGEKIT_FIXED_DSP_H

#include "edgekit/types.h"

/* ADR counts from words: it is off by two where a linker puts a function between two of them. */
#if defined(__clang__)
#define EK_ASSEMBLY __attribute__((naked, aligned(4), noinline, unused))
#else /* arguments are used, though gcc cannot see it */
#define EK_ASSEMBLY __attribute__((naked, aligned(4), noipa, unused))
#endif
#define EK_IN_ASSEMBLY __attribute__((unused))

/* The layer of which the functions below compute a pixel; they know the offsets of its fields. */
struct ek_dots {
    const int16_t *w;
    const int32_t *b; /* doubled */
    const int32_t *m;
    const int8_t *e; /* -exponent - 1; not for rule E */
    int32_t offset; /* 2 zero + 1; rule E: what is added to the high word */
    int32_t depth; /* bytes of x, a multiple of 4 */
    int32_t outputs;
    int32_t shift; /* rule E: of the high word */
};

#define EK_DOTS_PAIRS(sum)                                                                                   \
    "ldrd r12, lr, [r1], #8\n"                                                                               \
    "smlad " #sum ", r2, r12, " #sum "\n"                                                                    \
    "smlad " #sum ", r3, lr, " #sum "\n"
#define EK_DOTS_FOUR                                                                                         \
    "ldr r3, [r0], #4\n"                                                                                     \
    "sxtb16 r2, r3\n"                                                                                        \
    "sxtb16 r3, r3, ror #8\n" EK_DOTS_PAIRS(r4) EK_DOTS_PAIRS(r5) EK_DOTS_PAIRS(r6) EK_DOTS_PAIRS(r7)        \
        EK_DOTS_PAIRS(r8) EK_DOTS_PAIRS(r9) EK_DOTS_PAIRS(r10) EK_DOTS_PAIRS(r11)

/* x in r0, y in r1, the layer in r2. On the stack: 0 end of x, 4 x, 8 y, 12 b, 16 m, 20 e, 24 outputs left,
 * 28 offset, 32 whether the number of words of x is odd, 36 shift. Two words of x a turn; an odd one is half a turn.
 * Then r0 is behind the multipliers of the eight outputs, r2 behind their exponents, r3 behind y: the last goes first,
 * so that a block of less than eight starts in the middle, `size` bytes of code for each output. */
#define EK_DOTS(requantize, size, constants)                                                                 \
    "push {r4-r11, lr}\n"                                                                                    \
    "ldm r2, {r4-r11}\n"                                                                                     \
    "sub sp, sp, #40\n"                                                                                      \
    "add lr, r0, r9\n"                                                                                       \
    "strd lr, r0, [sp]\n"                                                                                    \
    "strd r1, r5, [sp, #8]\n"                                                                                \
    "strd r6, r7, [sp, #16]\n"                                                                               \
    "strd r10, r8, [sp, #24]\n"                                                                              \
    "and r9, r9, #4\n"                                                                                       \
    "strd r9, r11, [sp, #32]\n"                                                                              \
    "mov r1, r4\n"                                                                                           \
    "1:\n"                                                                                                   \
    "ldr r2, [sp, #12]\n"                                                                                    \
    "ldm r2!, {r4-r11}\n"                                                                                    \
    "str r2, [sp, #12]\n"                                                                                    \
    "ldr r3, [sp, #32]\n"                                                                                    \
    "ldr r0, [sp, #4]\n"                                                                                     \
    "cbnz r3, 3f\n"                                                                                          \
    "2:\n" EK_DOTS_FOUR "3:\n" EK_DOTS_FOUR "ldr r12, [sp]\n"                                                \
    "cmp r0, r12\n"                                                                                          \
    "bne 2b\n"                                                                                               \
    "ldr lr, [sp, #24]\n"                                                                                    \
    "ldrd r0, r2, [sp, #16]\n"                                                                               \
    "ldr r3, [sp, #8]\n"                                                                                     \
    "subs lr, lr, #8\n"                                                                                      \
    "str lr, [sp, #24]\n"                                                                                    \
    "blt 5f\n"                                                                                               \
    "add r0, r0, #32\n"                                                                                      \
    "add r2, r2, #8\n"                                                                                       \
    "add r3, r3, #8\n"                                                                                       \
    "strd r0, r2, [sp, #16]\n"                                                                               \
    "str r3, [sp, #8]\n" constants "4:\n" requantize(r11) requantize(r10) requantize(r9) requantize(r8)      \
        requantize(r7) requantize(r6) requantize(r5) requantize(r4) "ldr r12, [sp, #24]\n"                   \
                                                                    "cmp r12, #0\n"                          \
                                                                    "bgt 1b\n"                               \
                                                                    "add sp, sp, #40\n"                      \
                                                                    "pop {r4-r11, pc}\n"                     \
                                                                    "5:\n"                                   \
                                                                    "add r12, lr, #8\n"                      \
                                                                    "add r0, r0, r12, lsl #2\n"              \
                                                                    "add r2, r2, r12\n"                      \
                                                                    "add r3, r3, r12\n"                      \
                                                                    "mov r12, #-" #size "\n"                 \
                                                                    "mul r12, r12, lr\n"                     \
                                                                    "adr.w lr, 4b\n"                         \
                                                                    "add r12, r12, lr\n"                     \
                                                                    "orr r12, r12, #1\n" constants           \
                                                                    "bx r12\n"

/* z = (acc m + 2^30) >> 31; y = (z + (z >> 31) + 2^(t-1)) >> t with t = -e, the last bit of it with the saturation. */
#define EK_DOTS_TFL(sum)                                                                                     \
    "ldr r12, [r0, #-4]!\n"                                                                                  \
    "smmulr " #sum ", " #sum ", r12\n"                                                                       \
    "add.w " #sum ", " #sum ", " #sum ", asr #31\n"                                                          \
    "ldrb r12, [r2, #-1]!\n"                                                                                 \
    "asr.w " #sum ", " #sum ", r12\n"                                                                        \
    "add.w " #sum ", " #sum ", lr\n"                                                                         \
    "ssat " #sum ", #8, " #sum ", asr #1\n"                                                                  \
    "strb " #sum ", [r3, #-1]!\n"

/* The same of the whole product: 1 less where it is negative reaches the high word only if the low word is 0. */
#define EK_DOTS_ONCE(sum)                                                                                    \
    "ldr r12, [r0, #-4]!\n"                                                                                  \
    "smull r12, " #sum ", " #sum ", r12\n"                                                                   \
    "cmp.w r12, #0\n"                                                                                        \
    "it eq\n"                                                                                                \
    "addeq.w " #sum ", " #sum ", " #sum ", asr #31\n"                                                        \
    "ldrb r12, [r2, #-1]!\n"                                                                                 \
    "asr.w " #sum ", " #sum ", r12\n"                                                                        \
    "add.w " #sum ", " #sum ", lr\n"                                                                         \
    "ssat " #sum ", #8, " #sum ", asr #1\n"                                                                  \
    "strb " #sum ", [r3, #-1]!\n"

/* One shift for all: r2 has it. */
#define EK_DOTS_E(sum)                                                                                       \
    "ldr r12, [r0, #-4]!\n"                                                                                  \
    "smmla " #sum ", " #sum ", r12, lr\n"                                                                    \
    "asr.w " #sum ", " #sum ", r2\n"                                                                         \
    "ssat " #sum ", #8, " #sum "\n"                                                                          \
    "strb " #sum ", [r3, #-1]!\n"

static EK_ASSEMBLY void ek_requantize_tfl_dots(
    const int8_t *x EK_IN_ASSEMBLY, int8_t *y EK_IN_ASSEMBLY, const struct ek_dots *layer EK_IN_ASSEMBLY)
{
    __asm volatile(EK_DOTS(EK_DOTS_TFL, 32, "ldr lr, [sp, #28]\n"));
}

static EK_ASSEMBLY void ek_requantize_once_dots(
    const int8_t *x EK_IN_ASSEMBLY, int8_t *y EK_IN_ASSEMBLY, const struct ek_dots *layer EK_IN_ASSEMBLY)
{
    __asm volatile(EK_DOTS(EK_DOTS_ONCE, 38, "ldr lr, [sp, #28]\n"));
}

static EK_ASSEMBLY void ek_requantize_e_dots(
    const int8_t *x EK_IN_ASSEMBLY, int8_t *y EK_IN_ASSEMBLY, const struct ek_dots *layer EK_IN_ASSEMBLY)
{
    __asm volatile(EK_DOTS(EK_DOTS_E, 20, "ldr lr, [sp, #28]\nldr r2, [sp, #36]\n"));
}

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

/* Rule E with one multiplier for all: m and shift as in fixed.h, even where products leave 32 bits. */
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

/* Of a sum that does not go to the left. */
static inline int8_t ek_scaled_small_s8(int32_t sum, const struct ek_scale *p)
{
    int32_t y;
    __asm("smmla %0, %1, %2, %3" : "=r"(y) : "r"(sum), "r"(p->m), "r"(p->offset));
    y >>= p->down;
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
        /* Twice what add_s8.h says: ek_high_word halves. */
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
    for (; count > 0; count--)
        *to++ = (int8_t)byte;
    return to;
}

#endif
