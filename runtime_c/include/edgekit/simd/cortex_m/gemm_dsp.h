/* Sums of products with the DSP instructions of Cortex-M4, M7 and M33, requantized.
 *
 * Eight outputs stay in r4 to r11. Four bytes of x are spread to 16 bits, the even ones in r2, the odd ones in r3;
 * weights lie in 16 bits in the same order, so that each SMLAD adds two products; those of 8 bits are spread, too.
 * Sums and biases are doubled: (acc m + 2^30) >> 31 is then the rounded high word of a product, one SMMULR.
 * stack 76 */
#ifndef EDGEKIT_GEMM_DSP_H
#define EDGEKIT_GEMM_DSP_H

#include "edgekit/simd/cortex_m/fixed_dsp.h"

/* The layer of which the functions below compute a pixel. */
struct ek_dots {
    const void *w;
    const int32_t *b; /* doubled, where weights are */
    const int32_t *m;
    const int8_t *e; /* -exponent - 1; not for rule E */
    int32_t offset; /* 2 zero + 1; rule E: what is added to the high word */
    int32_t depth; /* bytes of x, whole fours */
    int32_t outputs;
    int32_t shift; /* rule E: of the high word */
};
EK_ASSEMBLY_OFFSETS(struct ek_dots, 0, w, b, m, e);
EK_ASSEMBLY_OFFSETS(struct ek_dots, 16, offset, depth, outputs, shift);

#define EK_DOTS_PAIRS(sum)                                                                                   \
    "ldrd r12, lr, [r1], #8\n"                                                                               \
    "smlad " #sum ", r2, r12, " #sum "\n"                                                                    \
    "smlad " #sum ", r3, lr, " #sum "\n"
#define EK_DOTS_BYTES(sum)                                                                                   \
    "ldr lr,[r1],#4\n"                                                                                       \
    "sxtb16 r12,lr\n"                                                                                        \
    "sxtb16 lr,lr,ror #8\n"                                                                                  \
    "smlad " #sum ",r2,r12," #sum "\n"                                                                       \
    "smlad " #sum ",r3,lr," #sum "\n" /* C99 promises 4095 characters: no blanks here */
#define EK_DOTS_EIGHT(four) four(r4) four(r5) four(r6) four(r7) four(r8) four(r9) four(r10) four(r11)

/* Four numbers of x, times four weights of each output. */
#define EK_DOTS_SPREAD                                                                                       \
    "ldr r3, [r0], #4\n"                                                                                     \
    "sxtb16 r2, r3\n"                                                                                        \
    "sxtb16 r3, r3, ror #8\n"
#define EK_DOTS_S8 EK_DOTS_SPREAD EK_DOTS_EIGHT(EK_DOTS_PAIRS)
#define EK_DOTS_S8_BYTES EK_DOTS_SPREAD EK_DOTS_EIGHT(EK_DOTS_BYTES)
#define EK_DOTS_S16                                                                                          \
    "ldr r2, [r0], #4\n"                                                                                     \
    "ldr r3, [r0], #4\n" EK_DOTS_EIGHT(EK_DOTS_PAIRS)

/* A pixel: `four` adds the products of four numbers of x, of so many bytes, to eight outputs; `requantize` is `size` bytes
 * of code for each of them, behind `constants`; a result has 2^bits bytes.
 *
 * Called with  r0 x, r1 y, r2 the layer
 * Stack        0 end of x, 4 x, 8 y, 12 b, 16 m, 20 e, 24 outputs left, 28 offset, 32 is there an odd four, 36 shift
 * Products     r0 x, r1 w, r2 r3 four numbers of x, r4-r11 sums, r12 lr four weights
 * Rules        r0 behind the multipliers of the eight outputs, r2 behind their exponents, r3 behind y: the last goes
 *              first, so that a block of less than eight starts in the middle, at `size` bytes for each that is not
 *              there; lr offset, for rule E r2 shift */
/* clang-format off */
#define EK_DOTS(four, bytes, bits, requantize, size, constants)                                              \
    "push {r4-r11, lr}\n"                                                                                    \
    "ldm r2, {r4-r11}\n"                                                                                     \
    "sub sp, sp, #40\n"                                                                                      \
    "add lr, r0, r9\n"                                                                                       \
    "strd lr, r0, [sp]\n"                                                                                    \
    "strd r1, r5, [sp, #8]\n"                                                                                \
    "strd r6, r7, [sp, #16]\n"                                                                               \
    "strd r10, r8, [sp, #24]\n"                                                                              \
    "and r9, r9, #" #bytes "\n"                                                                              \
    "strd r9, r11, [sp, #32]\n"                                                                              \
    "mov r1, r4\n"                                                                                           \
    "1:\n" /* eight outputs */                                                                               \
        "ldr r2, [sp, #12]\n"                                                                                \
        "ldm r2!, {r4-r11}\n"                                                                                \
        "str r2, [sp, #12]\n"                                                                                \
        "ldr r3, [sp, #32]\n"                                                                                \
        "ldr r0, [sp, #4]\n"                                                                                 \
        "cmp r3, #0\n"                                                                                       \
        "bne 3f\n"                                                                                           \
        "2:\n" /* two fours of x; an odd one is half a turn */                                               \
            four                                                                                             \
        "3:\n"                                                                                               \
            four                                                                                             \
            "ldr r12, [sp]\n"                                                                                \
            "cmp r0, r12\n"                                                                                  \
            "bne 2b\n"                                                                                       \
        "ldr lr, [sp, #24]\n"                                                                                \
        "ldrd r0, r2, [sp, #16]\n"                                                                           \
        "ldr r3, [sp, #8]\n"                                                                                 \
        "subs lr, lr, #8\n"                                                                                  \
        "str lr, [sp, #24]\n"                                                                                \
        "blt 5f\n"                                                                                           \
        "add r0, r0, #32\n"                                                                                  \
        "add r2, r2, #8\n"                                                                                   \
        "add r3, r3, #8 << " #bits "\n"                                                                      \
        "strd r0, r2, [sp, #16]\n"                                                                           \
        "str r3, [sp, #8]\n"                                                                                 \
        constants                                                                                            \
    "4:\n"                                                                                                   \
        requantize(r11) requantize(r10) requantize(r9) requantize(r8)                                        \
    "6:\n"                                                                                                   \
        requantize(r7) requantize(r6) requantize(r5) requantize(r4)                                          \
    "7:\n"                                                                                                   \
        EK_ASSEMBLY_SIZE(4, 6, 4 * size) /* apart: registers up to r7 have shorter instructions, too */      \
        EK_ASSEMBLY_SIZE(6, 7, 4 * size)                                                                     \
        "ldr r12, [sp, #24]\n"                                                                               \
        "cmp r12, #0\n"                                                                                      \
        "bgt 1b\n"                                                                                           \
    "add sp, sp, #40\n"                                                                                      \
    "pop {r4-r11, pc}\n"                                                                                     \
    "5:\n" /* less than eight outputs: into the middle, -lr times size behind 4 */                           \
        "add r12, lr, #8\n"                                                                                  \
        "add r0, r0, r12, lsl #2\n"                                                                          \
        "add r2, r2, r12\n"                                                                                  \
        "add r3, r3, r12, lsl #" #bits "\n"                                                                  \
        "mov r12, #-" #size "\n"                                                                             \
        "mul r12, r12, lr\n"                                                                                 \
        "adr.w lr, 4b\n"                                                                                     \
        "add r12, r12, lr\n"                                                                                 \
        "orr r12, r12, #1\n"                                                                                 \
        constants                                                                                            \
        "bx r12\n"
/* clang-format on */

#define EK_DOTS_CONSTANTS_tfl "ldr lr, [sp, #28]\n"
#define EK_DOTS_CONSTANTS_once EK_DOTS_CONSTANTS_tfl
#define EK_DOTS_CONSTANTS_e "ldr lr, [sp, #28]\nldr r2, [sp, #36]\n"

/* What a function computes: so many outputs, numbers of x and bits of a weight at a time. */
#define EK_DOTS_SHAPE(NAME, OUTPUTS, UNIT, BITS)                                                             \
    enum {                                                                                                   \
        ek_requantize_##NAME##_outputs = OUTPUTS,                                                            \
        ek_requantize_##NAME##_unit = UNIT,                                                                  \
        ek_requantize_##NAME##_bits = BITS                                                                   \
    };

/* The function with weights of so many bits. */
#define EK_DOTS_RULE(NAME, RULE, weight, four, bytes, bits, requantize, size)                                \
    EK_DOTS_SHAPE(NAME, 8, 4, weight)                                                                        \
    static EK_ASSEMBLY void ek_requantize_##NAME##_dots(                                                     \
        const void *x EK_IN_ASSEMBLY, void *y EK_IN_ASSEMBLY, const struct ek_dots *layer EK_IN_ASSEMBLY)    \
    {                                                                                                        \
        __asm volatile(EK_DOTS(four, bytes, bits, requantize, size, EK_DOTS_CONSTANTS_##RULE));              \
    }

/* int8, and weights of 16 bits, doubled. */
EK_DOTS_RULE(tfl, tfl, 16, EK_DOTS_S8, 4, 0, EK_DOTS_TFL, 32)
EK_DOTS_RULE(once, once, 16, EK_DOTS_S8, 4, 0, EK_DOTS_ONCE, 38)
EK_DOTS_RULE(e, e, 16, EK_DOTS_S8, 4, 0, EK_DOTS_E, 20)

/* The same with weights of 8 bits. */
EK_DOTS_RULE(tfl_bytes, tfl, 8, EK_DOTS_S8_BYTES, 4, 0, EK_DOTS_TWICE_TFL, 36)
EK_DOTS_RULE(once_bytes, once, 8, EK_DOTS_S8_BYTES, 4, 0, EK_DOTS_TWICE_ONCE, 42)
EK_DOTS_RULE(e_bytes, e, 8, EK_DOTS_S8_BYTES, 4, 0, EK_DOTS_TWICE_E, 24)
EK_CONSTANTS_DSP(tfl_bytes, tfl)
EK_CONSTANTS_DSP(once_bytes, once)
EK_CONSTANTS_DSP(e_bytes, e)

/* x of 16 bits, y of 16 bits, or both. */
EK_DOTS_RULE(tfl_s16_s8, tfl, 16, EK_DOTS_S16, 8, 0, EK_DOTS_TFL, 32)
EK_DOTS_RULE(e_s16, e, 16, EK_DOTS_S16, 8, 1, EK_DOTS_E_S16, 20)
EK_DOTS_RULE(e_s16_s8, e, 16, EK_DOTS_S16, 8, 0, EK_DOTS_E, 20)
EK_DOTS_RULE(e_s8_s16, e, 16, EK_DOTS_S8, 4, 1, EK_DOTS_E_S16, 20)
EK_CONSTANTS_DSP(tfl_s16_s8, tfl)
EK_CONSTANTS_DSP(e_s16, e)
EK_CONSTANTS_DSP(e_s16_s8, e)
EK_CONSTANTS_DSP(e_s8_s16, e)

#endif
