/* Sums of products of bytes with the DSP instructions of Cortex-M4, M7 and M33, weights in 8 bits, four instructions for
 * four products.
 *
 * Weights lie in pairs, 256 w1 + w0 in 16 bits. SMLAD multiplies two pairs as they lie by x1 and x3, which gives 256 times
 * the products that are wanted, and x1 w0 + x3 w2 too much; w0 and w2, spread by SXTB16, times 256 x0 - x1 and 256 x2 - x3
 * take that off, and add the others. So sums are 256 times what they are called.
 * stack 44 */
#ifndef EDGEKIT_PAIR_DOTS_DSP_H
#define EDGEKIT_PAIR_DOTS_DSP_H

#include "edgekit/simd/cortex_m/assembly.h"
#include "edgekit/types.h"

#define EK_PAIR_DOTS_OF(sum)                                                                                 \
    "ldr r12, [r1], #4\n"                                                                                    \
    "smlad " #sum ", r3, r12, " #sum "\n"                                                                    \
    "sxtb16 r12, r12\n"                                                                                      \
    "smlad " #sum ", r2, r12, " #sum "\n"

/* sums[0] to sums[7]: of x up to `end`, whole fours and at least one, times eight outputs; returns the next weights.
 *
 * Called with  r0 x, r1 w, r2 end, r3 sums
 * Products     r0 x, r1 w, r2 256 x0 - x1 and 256 x2 - x3, r3 x1 and x3, r4-r11 sums, r12 weights, lr end */
static EK_ASSEMBLY const int8_t *ek_pair_dots(const int8_t *x EK_IN_ASSEMBLY, const int8_t *w EK_IN_ASSEMBLY,
    const int8_t *end EK_IN_ASSEMBLY, int32_t *sums EK_IN_ASSEMBLY)
{
    /* clang-format off */
    __asm volatile(
        "push {r2-r11, lr}\n"
        "mov lr, r2\n"
        "movs r4, #0\n"
        "movs r5, #0\n"
        "movs r6, #0\n"
        "movs r7, #0\n"
        "mov r8, #0\n"
        "mov r9, #0\n"
        "mov r10, #0\n"
        "mov r11, #0\n"
        "1:\n"
            "ldr r3, [r0], #4\n"
            "lsl r2, r3, #8\n"
            "and r2, r2, #0xFF00FF00\n"
            "sxtb16 r3, r3, ror #8\n"
            "ssub16 r2, r2, r3\n"
            EK_PAIR_DOTS_OF(r4) EK_PAIR_DOTS_OF(r5) EK_PAIR_DOTS_OF(r6) EK_PAIR_DOTS_OF(r7)
            EK_PAIR_DOTS_OF(r8) EK_PAIR_DOTS_OF(r9) EK_PAIR_DOTS_OF(r10) EK_PAIR_DOTS_OF(r11)
            "cmp r0, lr\n"
            "bne 1b\n"
        "ldr r3, [sp, #4]\n"
        "stm r3, {r4-r11}\n"
        "mov r0, r1\n"
        "add sp, sp, #8\n"
        "pop {r4-r11, pc}\n");
    /* clang-format on */
}

#endif
