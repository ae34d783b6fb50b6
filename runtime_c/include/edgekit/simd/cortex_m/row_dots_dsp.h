/* Sums of products of one row at a time with the DSP instructions of Cortex-M4, M7 and M33, requantized.
 *
 * The numbers of the row are spread to 16 bits first, in fours: the first and the third, then the second and the fourth.
 * Then four outputs stay in r4 to r7, and one LDM brings a word of weights of each. Weights of 8 bits lie in pairs of
 * outputs, 256 w1 + w0 in 16 bits: SMLAD gives s0 + 256 s1, and with the lower bytes s0.
 * stack 84 */
#ifndef EDGEKIT_ROW_DOTS_DSP_H
#define EDGEKIT_ROW_DOTS_DSP_H

#include "edgekit/simd/cortex_m/gemm_dsp.h"

/* Spreads bytes, whole fours. */
static inline int32_t *ek_bytes_row(const void *x, int32_t *to, int32_t count)
{
    for (; count > 0; count -= 4)
        __asm volatile("ldr r4, [%0], #4\n"
                       "sxtb16 r3, r4\n"
                       "sxtb16 r4, r4, ror #8\n"
                       "stm %1!, {r3, r4}"
            : "+r"(x), "+r"(to)
            :
            : "r3", "r4", "memory");
    return to;
}

/* The same of numbers of 16 bits. */
static inline int32_t *ek_halves_row(const void *x, int32_t *to, int32_t count)
{
    for (; count > 0; count -= 4)
        __asm volatile("ldr r3, [%0], #4\n"
                       "ldr r6, [%0], #4\n"
                       "pkhtb r4, r6, r3, asr #16\n"
                       "pkhbt r3, r3, r6, lsl #16\n"
                       "stm %1!, {r3, r4}"
            : "+r"(x), "+r"(to)
            :
            : "r3", "r4", "r6", "memory");
    return to;
}

/* Four numbers times four weights of each of four outputs. C99 promises 4095 characters: no blanks here. */
#define EK_ROW_OF_HALVES(numbers)                                                                            \
    "ldm r1!,{r8-r11}\n"                                                                                     \
    "smlad r4," #numbers ",r8,r4\n"                                                                          \
    "smlad r5," #numbers ",r9,r5\n"                                                                          \
    "smlad r6," #numbers ",r10,r6\n"                                                                         \
    "smlad r7," #numbers ",r11,r7\n"
#define EK_ROW_HALVES "ldrd r2, r3, [r0], #8\n" EK_ROW_OF_HALVES(r2) EK_ROW_OF_HALVES(r3)

/* r4 and r6 are sums; r5 and r7 have 256 times the sums beside them added to the same. */
#define EK_ROW_OF_BYTES(numbers, word, a, b)                                                                 \
    "smlad " #b "," #numbers "," #word "," #b "\n"                                                           \
    "sxtb16 " #word "," #word "\n"                                                                           \
    "smlad " #a "," #numbers "," #word "," #a "\n"
#define EK_ROW_BYTES                                                                                         \
    "ldrd r2, r3, [r0], #8\n"                                                                                \
    "ldm r1!, {r8-r11}\n" EK_ROW_OF_BYTES(r2, r8, r4, r5) EK_ROW_OF_BYTES(r2, r9, r6, r7)                    \
        EK_ROW_OF_BYTES(r3, r10, r4, r5) EK_ROW_OF_BYTES(r3, r11, r6, r7)

/* Biases become such sums, and sums are doubled in the end. */
#define EK_ROW_BEGIN_HALVES
#define EK_ROW_BEGIN_BYTES                                                                                   \
    "add r5, r4, r5, lsl #8\n"                                                                               \
    "add r7, r6, r7, lsl #8\n"
#define EK_ROW_END_HALVES
#define EK_ROW_END_BYTES                                                                                     \
    "sub r5, r5, r4\n"                                                                                       \
    "sub r7, r7, r6\n"                                                                                       \
    "lsl r4, r4, #1\n"                                                                                       \
    "lsl r6, r6, #1\n"                                                                                       \
    "asr r5, r5, #7\n"                                                                                       \
    "asr r7, r7, #7\n"

/* A row: `WEIGHTS` is HALVES or BYTES, and `four` is the code for four numbers, `bytes` long; the rest is as in EK_DOTS.
 *
 * Called with  r0 numbers, r1 y, r2 the layer
 * Stack        0 end of the numbers, 4 numbers, 8 y, 16 m, 20 e, 24 outputs left, 28 b, 32 offset, 36 shift, 40 the first
 *              four of a turn
 * Products     r0 numbers, r1 w, r2 r3 numbers, r4-r7 sums, r8-r11 weights, r12 end of the numbers
 * Rules        as in EK_DOTS */
/* clang-format off */
#define EK_ROW(WEIGHTS, four, bytes, bits, requantize, size, constants)                                      \
    "push {r4-r11, lr}\n"                                                                                    \
    "ldm r2, {r4-r11}\n"                                                                                     \
    "sub sp, sp, #48\n"                                                                                      \
    "add lr, r0, r9\n"                                                                                       \
    "strd lr, r0, [sp]\n"                                                                                    \
    "str r1, [sp, #8]\n"                                                                                     \
    "strd r6, r7, [sp, #16]\n"                                                                               \
    "strd r10, r5, [sp, #24]\n"                                                                              \
    "strd r8, r11, [sp, #32]\n"                                                                              \
    "rsb r9, r9, #0\n" /* fours that the first turn begins without */                                        \
    "ubfx r9, r9, #3, " EK_ROW_TURN_BITS "\n"                                                                \
    "mov r12, #" #bytes "\n"                                                                                 \
    "adr.w r3, 2f\n"                                                                                         \
    "mla r9, r9, r12, r3\n"                                                                                  \
    "orr r9, r9, #1\n"                                                                                       \
    "str r9, [sp, #40]\n"                                                                                    \
    "mov r1, r4\n"                                                                                           \
    "1:\n" /* four outputs */                                                                                \
        "ldr r2, [sp, #28]\n"                                                                                \
        "ldr r0, [sp, #4]\n"                                                                                 \
        "ldm r2!, {r4-r7}\n"                                                                                 \
        "str r2, [sp, #28]\n"                                                                                \
        EK_ROW_BEGIN_##WEIGHTS                                                                               \
        "ldr r12, [sp]\n"                                                                                    \
        "ldr pc, [sp, #40]\n"                                                                                \
        ".p2align 2\n"                                                                                       \
        EK_ROW_TURN(four)                                                                                    \
            EK_ASSEMBLY_SIZE(2, 3, bytes)                                                                    \
            "cmp r0, r12\n"                                                                                  \
            "bne 2b\n"                                                                                       \
        EK_ROW_END_##WEIGHTS                                                                                 \
        "ldr lr, [sp, #24]\n"                                                                                \
        "ldrd r0, r2, [sp, #16]\n"                                                                           \
        "ldr r3, [sp, #8]\n"                                                                                 \
        "subs lr, lr, #4\n"                                                                                  \
        "str lr, [sp, #24]\n"                                                                                \
        "blt 5f\n"                                                                                           \
        "add r0, r0, #16\n"                                                                                  \
        "add r2, r2, #4\n"                                                                                   \
        "add r3, r3, #4 << " #bits "\n"                                                                      \
        "strd r0, r2, [sp, #16]\n"                                                                           \
        "str r3, [sp, #8]\n"                                                                                 \
        constants                                                                                            \
    "4:\n"                                                                                                   \
        requantize(r7) requantize(r6) requantize(r5) requantize(r4)                                          \
    "6:\n"                                                                                                   \
        EK_ASSEMBLY_SIZE(4, 6, 4 * size)                                                                     \
        "ldr r12, [sp, #24]\n"                                                                               \
        "cmp r12, #0\n"                                                                                      \
        "bgt 1b\n"                                                                                           \
    "add sp, sp, #48\n"                                                                                      \
    "pop {r4-r11, pc}\n"                                                                                     \
    "5:\n" /* less than four outputs: into the middle, -lr times size behind 4 */                            \
        "add r12, lr, #4\n"                                                                                  \
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

#define EK_ROW_TFL_UP(sum) EK_DOTS_TFL_UP(sum, r8, r9)
#define EK_ROW_ONCE_UP(sum) EK_DOTS_ONCE_UP(sum, r8, r9)

#define EK_ROW_CONSTANTS_tfl "ldr lr, [sp, #32]\n"
#define EK_ROW_CONSTANTS_once EK_ROW_CONSTANTS_tfl
#define EK_ROW_CONSTANTS_e "ldrd lr, r2, [sp, #32]\n"

#define EK_ROW_RULE(NAME, RULE, WEIGHTS, bytes, bits, requantize, size)                                      \
    EK_CONSTANTS_DSP(NAME, RULE)                                                                             \
    static EK_ASSEMBLY void ek_requantize_##NAME##_dots(const void *numbers EK_IN_ASSEMBLY,                  \
        void *y EK_IN_ASSEMBLY, const struct ek_dots *layer EK_IN_ASSEMBLY)                                  \
    {                                                                                                        \
        __asm volatile(                                                                                      \
            EK_ROW(WEIGHTS, EK_ROW_##WEIGHTS, bytes, bits, requantize, size, EK_ROW_CONSTANTS_##RULE));      \
    }

EK_ROW_RULE(row_tfl, tfl, HALVES, 44, 0, EK_DOTS_TFL, 32)
EK_ROW_RULE(row_tfl_up, tfl, HALVES, 44, 0, EK_ROW_TFL_UP, 28)
EK_ROW_RULE(row_once, once, HALVES, 44, 0, EK_DOTS_ONCE, 38)
EK_ROW_RULE(row_once_up, once, HALVES, 44, 0, EK_ROW_ONCE_UP, 28)
EK_ROW_RULE(row_e, e, HALVES, 44, 0, EK_DOTS_E, 20)
EK_ROW_RULE(row_e_s16, e, HALVES, 44, 1, EK_DOTS_E_S16, 20)
EK_ROW_RULE(row_tfl_bytes, tfl, BYTES, 56, 0, EK_DOTS_TFL, 32)
EK_ROW_RULE(row_tfl_up_bytes, tfl, BYTES, 56, 0, EK_ROW_TFL_UP, 28)
EK_ROW_RULE(row_once_bytes, once, BYTES, 56, 0, EK_DOTS_ONCE, 38)
EK_ROW_RULE(row_once_up_bytes, once, BYTES, 56, 0, EK_ROW_ONCE_UP, 28)
EK_ROW_RULE(row_e_bytes, e, BYTES, 56, 0, EK_DOTS_E, 20)
EK_ROW_RULE(row_e_s16_bytes, e, BYTES, 56, 1, EK_DOTS_E_S16, 20)

#endif
