/* Sums of a depthwise convolution on Cortex-M0+, a weight for four pixels at a time.
 * stack 40 */
#ifndef EDGEKIT_DEPTHWISE_QUADS_THUMB1_H
#define EDGEKIT_DEPTHWISE_QUADS_THUMB1_H

#include "edgekit/simd/cortex_m/assembly.h"
#include "edgekit/types.h"

struct ek_channel_sums {
    const int32_t *b;
    int32_t *to;
    int32_t *end;
    int32_t first; /* from cells to the first weight */
};
EK_ASSEMBLY_OFFSETS(struct ek_channel_sums, 0, b, to, end, first);

/* Pointers to cells, four at a time, less `by`. */
static EK_SHARED void ek_move_cells(const int8_t **cells, const int8_t **end, int32_t by)
{
    for (; cells != end; cells += 4) {
        cells[0] -= by;
        cells[1] -= by;
        cells[2] -= by;
        cells[3] -= by;
        __asm("" : "+r"(cells)); /* else compilers unroll this */
    }
}

#define EK_QUAD_PRODUCT(cell, sum)                                                                           \
    "ldrsb r6, [r" #cell ", r4]\n"                                                                           \
    "muls r6, r5\n"                                                                                          \
    "add r" #sum ", r6\n"

/* Biases and the products of channels of four pixels. A tap has four pointers in `cells`, sixteen bytes, and as many weights: a cell
 * and a weight are as far from these pointers.
 *
 * Called with  r0 cells, r1 end, r2 sums
 * Stack        0 sums
 * Loop         r0-r3 cells of a tap, r4 from these to a channel, r5 a weight, r6 a cell, then a product, r7 cells left, r8-r11 sums,
 *              r12 end, lr the first cells */
static EK_ASSEMBLY void ek_sums_of_quads(const int8_t **cells EK_IN_ASSEMBLY,
    const int8_t **end EK_IN_ASSEMBLY, struct ek_channel_sums *p EK_IN_ASSEMBLY)
{
    /* clang-format off */
    __asm volatile(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "push {r2, r4-r7}\n"
        "mov lr, r0\n"
        "mov r12, r1\n"
        "ldr r4, [r2, #12]\n"
        "1:\n" /* a channel */
            "ldr r0, [sp]\n"
            "ldr r1, [r0]\n"
            "ldm r1!, {r2}\n"
            "str r1, [r0]\n"
            "mov r8, r2\n"
            "mov r9, r2\n"
            "mov r10, r2\n"
            "mov r11, r2\n"
            "mov r7, lr\n"
        "2:\n" /* a tap */
                "ldrsb r5, [r7, r4]\n"
                "ldm r7!, {r0-r3}\n"
                EK_QUAD_PRODUCT(0, 8)
                EK_QUAD_PRODUCT(1, 9)
                EK_QUAD_PRODUCT(2, 10)
                EK_QUAD_PRODUCT(3, 11)
                "cmp r7, r12\n"
                "bne 2b\n"
            "adds r4, #1\n"
            "ldr r7, [sp]\n"
            "ldr r5, [r7, #4]\n"
            "mov r0, r8\n"
            "mov r1, r9\n"
            "mov r2, r10\n"
            "mov r3, r11\n"
            "stm r5!, {r0-r3}\n"
            "str r5, [r7, #4]\n"
            "ldr r6, [r7, #8]\n"
            "cmp r5, r6\n"
            "bne 1b\n"
        "pop {r2, r4-r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "pop {r4-r7, pc}\n");
    /* clang-format on */
}

#endif
