/* Sums of products of bytes on Cortex-M0+: whole fours of outputs, sixteen at most. Assembly, because compilers store and
 * load what fits into its eight registers.
 * stack 24 */
#ifndef EDGEKIT_DOT4_THUMB1_H
#define EDGEKIT_DOT4_THUMB1_H

#include "edgekit/simd/cortex_m/assembly.h"
#include "edgekit/types.h"

/* Where sums begin, and where they go. */
struct ek_sums {
    const int32_t *b;
    int32_t less; /* than a bias */
    int32_t *to;
    int32_t *end;
};
EK_ASSEMBLY_OFFSETS(struct ek_sums, 0, b, less, to, end);

#define EK_FOUR_WEIGHT(at, sum)                                                                              \
    "ldrb r7, [r2, #" #at "]\n"                                                                              \
    "muls r7, r1, r7\n"                                                                                      \
    "adds " #sum ", " #sum ", r7\n"
#define EK_FOUR_CELL(cell, w0, w1, w2, w3)                                                                   \
    "ldrb r1, [r0, #" #cell "]\n" EK_FOUR_WEIGHT(w0, r3) EK_FOUR_WEIGHT(w1, r4) EK_FOUR_WEIGHT(w2, r5)       \
        EK_FOUR_WEIGHT(w3, r6)

/* Biases and the products of all cells, whole fours, with the weights of outputs; w holds four of each cell.
 *
 * Called with  r0 x, r1 end, r2 w, r3 sums
 * Stack        0 sums
 * Loop         r0 x, r1 a cell, r2 w, r3-r6 sums, r7 a weight and its product, r12 end, lr the first cell */
static EK_ASSEMBLY void ek_sums_of_cells(const uint8_t *x EK_IN_ASSEMBLY, const uint8_t *end EK_IN_ASSEMBLY,
    const uint8_t *w EK_IN_ASSEMBLY, struct ek_sums *p EK_IN_ASSEMBLY)
{
    /* clang-format off */
    __asm volatile(
        ".syntax unified\n"
        "push {r3-r7, lr}\n"
        "mov r12, r1\n"
        "mov lr, r0\n"
        "1:\n" /* four outputs */
            "ldr r7, [sp]\n"
            "ldm r7!, {r0, r1}\n"
            "ldm r0!, {r3-r6}\n"
            "subs r7, #8\n"
            "str r0, [r7]\n"
            "subs r3, r3, r1\n"
            "subs r4, r4, r1\n"
            "subs r5, r5, r1\n"
            "subs r6, r6, r1\n"
            "mov r0, lr\n"
        "2:\n" /* four cells */
                EK_FOUR_CELL(0, 0, 1, 2, 3)
                EK_FOUR_CELL(1, 4, 5, 6, 7)
                EK_FOUR_CELL(2, 8, 9, 10, 11)
                EK_FOUR_CELL(3, 12, 13, 14, 15)
                "adds r0, r0, #4\n"
                "adds r2, r2, #16\n"
                "cmp r0, r12\n"
                "bne 2b\n"
            "ldr r7, [sp]\n"
            "ldr r1, [r7, #8]\n"
            "ldr r0, [r7, #12]\n"
            "stm r1!, {r3-r6}\n"
            "str r1, [r7, #8]\n"
            "cmp r1, r0\n"
            "bne 1b\n"
        "pop {r3-r7, pc}\n");
    /* clang-format on */
}

#endif
