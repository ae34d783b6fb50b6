/* Sums of products on Cortex-M0+ with two products in each multiplication (SWAR): a word holds the cells of two pixels, 16 bits
 * apart. Of two such products by weights, each half of their sum has 16 bits, sign included.
 * stack 40 */
#ifndef EDGEKIT_SWAR_THUMB1_H
#define EDGEKIT_SWAR_THUMB1_H

#include "edgekit/simd/cortex_m/assembly.h"
#include "edgekit/types.h"

/* Two cells of two pixels, a + 2^16 b each, which are 8 bytes after those of the first two. */
#define EK_PIXELS(first, second)                                                                             \
    "ldrsb r6, [r" #first ", r4]\n"                                                                          \
    "ldrsb r7, [r" #second ", r4]\n"                                                                         \
    "lsls r7, #16\n"                                                                                         \
    "adds r6, r7\n"
#define EK_PIXEL_CELLS EK_PIXELS(0, 1) "str r6, [r5]\n" EK_PIXELS(2, 3) "str r6, [r5, #8]\n"

/* Packs the windows of four pixels: for each tap, `cells` holds where the `depth` cells of each pixel are. For every two cells, `to`
 * takes those of the first two pixels, then those of the others; it is a multiple of 8.
 *
 * Called with  r0 cells, r1 end, r2 depth, r3 to
 * Loop         r0-r3 cells of a tap, r4 a channel, r5 to, r6-r7 cells, r12 depth, r8 cells left, lr end */
static EK_ASSEMBLY void ek_pack_pixels(const int8_t **cells EK_IN_ASSEMBLY, const int8_t **end EK_IN_ASSEMBLY,
    int32_t depth EK_IN_ASSEMBLY, void *to EK_IN_ASSEMBLY)
{
    /* clang-format off */
    __asm volatile(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "mov r4, r8\n"
        "push {r4}\n"
        "mov lr, r1\n"
        "mov r12, r2\n"
        "movs r5, r3\n"
        "movs r4, r0\n"
        "1:\n" /* a tap */
            "ldm r4!, {r0-r3}\n"
            "mov r8, r4\n"
            "movs r4, #0\n"
            "lsls r6, r5, #29\n"
            "bmi 3f\n"
        "2:\n" /* the first cell of two */
                EK_PIXEL_CELLS
                "adds r5, #4\n"
                "adds r4, #1\n"
                "cmp r4, r12\n"
                "beq 4f\n"
        "3:\n" /* the second one */
                EK_PIXEL_CELLS
                "adds r5, #12\n"
                "adds r4, #1\n"
                "cmp r4, r12\n"
                "bne 2b\n"
        "4:\n"
            "mov r4, r8\n"
            "cmp r4, lr\n"
            "bne 1b\n"
        "pop {r4}\n"
        "mov r8, r4\n"
        "pop {r4-r7, pc}\n");
    /* clang-format on */
}

struct ek_pixel_sums {
    const int32_t *b;
    int32_t *to;
    int32_t *end;
};
EK_ASSEMBLY_OFFSET(struct ek_pixel_sums, b, 0);
EK_ASSEMBLY_OFFSET(struct ek_pixel_sums, to, 4);
EK_ASSEMBLY_OFFSET(struct ek_pixel_sums, end, 8);

/* Two cells of two pixels, loaded and multiplied by weights in r2 and r3. `sums` is S0 + 2^16 S1, modulo 2^32, and `second` is S1: the
 * shift brings the sign of the lower half into the carry, by which the upper half is too low. */
#define EK_PIXEL_PRODUCTS(sums, second)                                                                      \
    "muls r4, r2\n"                                                                                          \
    "muls r5, r3\n"                                                                                          \
    "adds r4, r5\n"                                                                                          \
    "add " #sums ", r4\n"                                                                                    \
    "asrs r4, #16\n"                                                                                         \
    "adcs " #second ", r4\n"
#define EK_TWO_CELLS                                                                                         \
    "ldrsb r2, [r0, r1]\n"                                                                                   \
    "ldm r0!, {r4, r5}\n"                                                                                    \
    "ldrsb r3, [r0, r1]\n" EK_PIXEL_PRODUCTS(r8, r6) "ldm r0!, {r4, r5}\n" EK_PIXEL_PRODUCTS(r9, r7)

/* Biases and the products of the cells of four pixels, whole fours, with the weights of up to eight outputs; w holds eight for each
 * cell, which advance by as many bytes as the cells. Weights are not below -127.
 *
 * Called with  r0 cells, r1 end, r2 w, r3 sums
 * Stack        0 sums
 * Loop         r0 cells, r1 from cells to weights, r2-r3 weights, r4-r5 cells, then products, r6-r7 S1 and S3, r8-r9 S0 and S2 with
 *              those, r10 end, r11 the first cells, r12 from these to the weights */
static EK_ASSEMBLY void ek_sums_of_pixels(const void *cells EK_IN_ASSEMBLY, const void *end EK_IN_ASSEMBLY,
    const int8_t *w EK_IN_ASSEMBLY, struct ek_pixel_sums *p EK_IN_ASSEMBLY)
{
    /* clang-format off */
    __asm volatile(
        ".syntax unified\n"
        "push {r3-r7, lr}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "push {r4-r7}\n"
        "mov r10, r1\n"
        "mov r11, r0\n"
        "subs r1, r2, r0\n"
        "1:\n" /* an output */
            "ldr r4, [sp, #16]\n"
            "ldr r2, [r4]\n"
            "ldm r2!, {r6}\n"
            "str r2, [r4]\n"
            "movs r7, r6\n"
            "lsls r5, r6, #16\n"
            "adds r5, r6\n"
            "mov r8, r5\n"
            "mov r9, r5\n"
            "mov r0, r11\n"
        "2:\n" /* four cells */
                EK_TWO_CELLS
                EK_TWO_CELLS
                "cmp r0, r10\n"
                "bne 2b\n"
            "lsls r3, r6, #16\n"
            "mov r2, r8\n"
            "subs r2, r3\n"
            "movs r3, r6\n"
            "lsls r5, r7, #16\n"
            "mov r4, r9\n"
            "subs r4, r5\n"
            "movs r5, r7\n"
            "ldr r6, [sp, #16]\n"
            "ldr r7, [r6, #4]\n"
            "ldr r0, [r6, #8]\n"
            "stm r7!, {r2-r5}\n"
            "str r7, [r6, #4]\n"
            "adds r1, #1\n"
            "cmp r7, r0\n"
            "bne 1b\n"
        "pop {r4-r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "pop {r3-r7, pc}\n");
    /* clang-format on */
}

#endif
