/* All channels of pixels of a depthwise convolution with DSP instructions, four at once, requantized by the rules of
 * gemm_dsp.h. Weights are in 16 bits, doubled: of four channels 0, 2, 1 and 3, tap by tap.
 * stack 100 */
#ifndef EDGEKIT_DEPTHWISE_DSP_H
#define EDGEKIT_DEPTHWISE_DSP_H

#include "edgekit/simd/cortex_m/gemm_dsp.h"

/* Pixels side by side. */
struct ek_fours {
    const int8_t **cells; /* of the window of the first pixel: their first channels */
    const int16_t *w; /* doubled */
    const int32_t *b; /* doubled */
    const int32_t *m;
    const int8_t *e; /* -exponent - 1; not for rule E */
    int32_t channels;
    int32_t taps;
    void *y;
    int32_t offset; /* 2 zero + 1; rule E: what is added to the high word */
    int32_t shift; /* rule E: of the high word */
    int32_t step; /* from the cells of a pixel to those of the next one */
    int32_t pixels;
};
EK_ASSEMBLY_OFFSETS(struct ek_fours, 0, cells, w, b, m);
EK_ASSEMBLY_OFFSETS(struct ek_fours, 16, e, channels, taps, y);
EK_ASSEMBLY_OFFSETS(struct ek_fours, 32, offset, shift, step, pixels);

#define EK_FOURS_TAP                                                                                         \
    "ldr r9, [r0], #4\n"                                                                                     \
    "ldrd r12, lr, [r1], #8\n"                                                                               \
    "ldr r9, [r9, r8]\n"                                                                                     \
    "sxtb16 r10, r9, ror #8\n"                                                                               \
    "sxtb16 r9, r9\n"                                                                                        \
    "smlabb r5, r10, lr, r5\n"                                                                               \
    "smlatt r7, r10, lr, r7\n"                                                                               \
    "smlabb r4, r9, r12, r4\n"                                                                               \
    "smlatt r6, r9, r12, r6\n"

#define EK_FOURS_TFL_UP(sum) EK_DOTS_TFL_UP(sum, r9, r10)

/* `requantize`, `size`, `constants` and `bits` are as in EK_DOTS.
 *
 * Called with  r0 the pixels
 * Stack        0-47 the pixels, of which w, b, y and the number go on; 48 m, 52 e, 56 channels left, 60 b of four channels
 * Products     r0 cells, r1 w, r3 taps left, r4-r7 sums, r8 the channel and r11 the pixel, in bytes; r9 r10 four numbers
 *              of x, r12 lr four weights
 * Rules        as in EK_DOTS */
/* clang-format off */
#define EK_FOURS(bits, requantize, size, constants)                                                          \
    "push {r4-r11, lr}\n"                                                                                    \
    "sub sp, sp, #64\n"                                                                                      \
    "mov r12, sp\n"                                                                                          \
    "ldm r0!, {r4-r9}\n"                                                                                     \
    "stm r12!, {r4-r9}\n"                                                                                    \
    "ldm r0, {r4-r9}\n"                                                                                      \
    "stm r12, {r4-r9}\n"                                                                                     \
    "mov r11, #0\n"                                                                                          \
    "5:\n" /* a pixel */                                                                                     \
        "ldrd r4, r5, [sp, #12]\n"                                                                           \
        "ldr r6, [sp, #20]\n"                                                                                \
        "ldrd r1, r2, [sp, #4]\n"                                                                            \
        "strd r4, r5, [sp, #48]\n"                                                                           \
        "str r6, [sp, #56]\n"                                                                                \
        "mov r8, r11\n"                                                                                      \
        "1:\n" /* four channels */                                                                           \
            "ldr r3, [sp, #24]\n"                                                                            \
            "ldm r2!, {r4-r7}\n"                                                                             \
            "ldr r0, [sp]\n"                                                                                 \
            "tst r3, #1\n"                                                                                   \
            "str r2, [sp, #60]\n"                                                                            \
            "bne 3f\n"                                                                                       \
            "2:\n" /* two taps; an odd one is half a turn */                                                 \
                EK_FOURS_TAP                                                                                 \
            "3:\n"                                                                                           \
                EK_FOURS_TAP                                                                                 \
                "subs r3, r3, #2\n"                                                                          \
                "bgt 2b\n"                                                                                   \
            "ldr r12, [sp, #56]\n"                                                                           \
            "ldrd r0, r2, [sp, #48]\n"                                                                       \
            "ldr r3, [sp, #28]\n"                                                                            \
            "subs r12, r12, #4\n"                                                                            \
            "str r12, [sp, #56]\n"                                                                           \
            "blt 6f\n"                                                                                       \
            "add r0, r0, #16\n"                                                                              \
            "add r2, r2, #4\n"                                                                               \
            "add r3, r3, #4 << " #bits "\n"                                                                  \
            "strd r0, r2, [sp, #48]\n"                                                                       \
            "str r3, [sp, #28]\n"                                                                            \
            constants                                                                                        \
        "4:\n"                                                                                               \
            requantize(r7) requantize(r6) requantize(r5) requantize(r4)                                      \
        "7:\n"                                                                                               \
            EK_ASSEMBLY_SIZE(4, 7, 4 * size)                                                                 \
            "ldr r12, [sp, #56]\n"                                                                           \
            "ldr r2, [sp, #60]\n"                                                                            \
            "add r8, r8, #4\n"                                                                               \
            "cmp r12, #0\n"                                                                                  \
            "bgt 1b\n"                                                                                       \
        "ldrd r0, r1, [sp, #40]\n"                                                                           \
        "add r11, r11, r0\n"                                                                                 \
        "subs r1, r1, #1\n"                                                                                  \
        "str r1, [sp, #44]\n"                                                                                \
        "bgt 5b\n"                                                                                           \
    "add sp, sp, #64\n"                                                                                      \
    "pop {r4-r11, pc}\n"                                                                                     \
    "6:\n" /* less than four channels: into the middle, -r12 times size behind 4 */                          \
        "add lr, r12, #4\n"                                                                                  \
        "add r0, r0, lr, lsl #2\n"                                                                           \
        "add r2, r2, lr\n"                                                                                   \
        "add r3, r3, lr, lsl #" #bits "\n"                                                                   \
        "str r3, [sp, #28]\n"                                                                                \
        "mov lr, #-" #size "\n"                                                                              \
        "mul r12, r12, lr\n"                                                                                 \
        "adr.w lr, 4b\n"                                                                                     \
        "add r12, r12, lr\n"                                                                                 \
        "orr r12, r12, #1\n"                                                                                 \
        constants                                                                                            \
        "bx r12\n"
/* clang-format on */

#define EK_FOURS_CONSTANTS_tfl "ldr lr, [sp, #32]\n"
#define EK_FOURS_CONSTANTS_e "ldr lr, [sp, #32]\nldr r2, [sp, #36]\n"

#define EK_FOURS_RULE(NAME, RULE, bits, requantize, size)                                                    \
    static EK_ASSEMBLY void ek_requantize_##NAME##_fours(const struct ek_fours *pixels EK_IN_ASSEMBLY)       \
    {                                                                                                        \
        __asm volatile(EK_FOURS(bits, requantize, size, EK_FOURS_CONSTANTS_##RULE));                         \
    }

EK_FOURS_RULE(tfl, tfl, 0, EK_DOTS_TFL, 32)
EK_FOURS_RULE(tfl_up, tfl, 0, EK_FOURS_TFL_UP, 28)
EK_FOURS_RULE(e, e, 0, EK_DOTS_E, 20)
EK_FOURS_RULE(e_s8_s16, e, 1, EK_DOTS_E_S16, 20)
EK_CONSTANTS_DSP(tfl_up, tfl)

#endif
