/* Sums of products of bytes and weights of four bits with DSP instructions, requantized by rule E: see gemm_dsp.h.
 *
 * A word holds eight weights of one output, each with 8 more, so that none has a sign: four masks bring them, two by two,
 * beside the pairs of x. Eight times the sum of x, which is the same for all outputs, is then too much.
 * stack 76 */
#ifndef EDGEKIT_GEMM_INT4_DSP_H
#define EDGEKIT_GEMM_INT4_DSP_H

#include "edgekit/simd/cortex_m/gemm_dsp.h"

EK_DOTS_SHAPE(e_nibbles, 4, 8, 4)

/* Eight weights in one register times x in r8 to r11. */
#define EK_NIBBLES_OF(word, sum)                                                                             \
    "and.w r12, r2, " #word "\n"                                                                             \
    "smlad " #sum ", r12, r8, " #sum "\n"                                                                    \
    "and.w r12, r2, " #word ", lsr #4\n"                                                                     \
    "smlad " #sum ", r12, r9, " #sum "\n"                                                                    \
    "and.w r12, r2, " #word ", lsr #8\n"                                                                     \
    "smlad " #sum ", r12, r10, " #sum "\n"                                                                   \
    "and.w r12, r2, " #word ", lsr #12\n"                                                                    \
    "smlad " #sum ", r12, r11, " #sum "\n"

/* A pixel, four outputs at a time.
 *
 * Called with  r0 x, r1 y, r2 the layer
 * Stack        0 end of x, 4 x, 8 y, 12 b, 16 m, 24 outputs left, 28 offset, 32 eight times the sum of x, 36 shift
 * Products     r0 x, r1 w, r2 the mask, r3 lr eight weights each, r4-r7 sums, r8-r11 eight numbers of x
 * Rules        as in EK_DOTS */
static EK_ASSEMBLY void ek_requantize_e_nibbles_dots(
    const void *x EK_IN_ASSEMBLY, void *y EK_IN_ASSEMBLY, const struct ek_dots *layer EK_IN_ASSEMBLY)
{
    /* clang-format off */
    __asm volatile(
        "push {r4-r11, lr}\n"
        "ldm r2, {r4-r11}\n"
        "sub sp, sp, #40\n"
        "add lr, r0, r9\n"
        "strd lr, r0, [sp]\n"
        "strd r1, r5, [sp, #8]\n"
        "str r6, [sp, #16]\n"
        "strd r10, r8, [sp, #24]\n"
        "mov r1, r4\n"
        "mov r12, #0x00010001\n"
        "mov r4, #0\n"
        "6:\n" /* the sum of x */
            "ldr r2, [r0], #4\n"
            "ldr r3, [r0], #4\n"
            "sxtb16 r5, r2\n"
            "sxtab16 r5, r5, r2, ror #8\n"
            "sxtab16 r5, r5, r3\n"
            "sxtab16 r5, r5, r3, ror #8\n"
            "smlad r4, r5, r12, r4\n"
            "cmp r0, lr\n"
            "bne 6b\n"
        "lsl r4, r4, #3\n"
        "strd r4, r11, [sp, #32]\n"
        "1:\n" /* four outputs */
            "ldr r2, [sp, #12]\n"
            "ldr r3, [sp, #32]\n"
            "ldm r2!, {r4-r7}\n"
            "ldr r0, [sp, #4]\n"
            "str r2, [sp, #12]\n"
            "sub r4, r4, r3\n"
            "sub r5, r5, r3\n"
            "sub r6, r6, r3\n"
            "sub r7, r7, r3\n"
            "mov r2, #0x000F000F\n"
            "2:\n" /* eight numbers of x */
                "ldr r8, [r0], #4\n"
                "ldr r10, [r0], #4\n"
                "ldrd r3, lr, [r1], #8\n"
                "sxtb16 r9, r8, ror #8\n"
                "sxtb16 r8, r8\n"
                "sxtb16 r11, r10, ror #8\n"
                "sxtb16 r10, r10\n"
                EK_NIBBLES_OF(r3, r4)
                EK_NIBBLES_OF(lr, r5)
                "ldrd r3, lr, [r1], #8\n"
                EK_NIBBLES_OF(r3, r6)
                EK_NIBBLES_OF(lr, r7)
                "ldr r12, [sp]\n"
                "cmp r0, r12\n"
                "bne 2b\n"
            "ldr lr, [sp, #24]\n"
            "ldr r0, [sp, #16]\n"
            "ldr r3, [sp, #8]\n"
            "subs lr, lr, #4\n"
            "str lr, [sp, #24]\n"
            "blt 5f\n"
            "add r0, r0, #16\n"
            "add r3, r3, #4\n"
            "str r0, [sp, #16]\n"
            "str r3, [sp, #8]\n"
            EK_DOTS_CONSTANTS_e
        "4:\n"
            EK_DOTS_E(r7) EK_DOTS_E(r6) EK_DOTS_E(r5) EK_DOTS_E(r4)
        "7:\n"
            EK_ASSEMBLY_SIZE(4, 7, 4 * 20)
            "ldr r12, [sp, #24]\n"
            "cmp r12, #0\n"
            "bgt 1b\n"
        "add sp, sp, #40\n"
        "pop {r4-r11, pc}\n"
        "5:\n" /* less than four outputs: into the middle */
            "add r12, lr, #4\n"
            "add r0, r0, r12, lsl #2\n"
            "add r3, r3, r12\n"
            "mov r12, #-20\n"
            "mul r12, r12, lr\n"
            "adr.w lr, 4b\n"
            "add r12, r12, lr\n"
            "orr r12, r12, #1\n"
            EK_DOTS_CONSTANTS_e
            "bx r12\n");
    /* clang-format on */
}

#endif
