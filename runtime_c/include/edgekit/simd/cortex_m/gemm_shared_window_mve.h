/* All outputs of pixels side by side with Helium, two at once, as in gemm_mve.h, from x itself or from the cells that the
 * windows of two have together; and their sum with what is already there, by factors.
 * stack 152 */
#ifndef EDGEKIT_GEMM_SHARED_WINDOW_MVE_H
#define EDGEKIT_GEMM_SHARED_WINDOW_MVE_H

#include "edgekit/simd/cortex_m/gemm_mve.h"

/* Pairs of pixels of a layer, side by side, of whose windows a row is three blocks, or six, ... */
struct ek_pair {
    int32_t first; /* factors of the sum, whose first operand the convolution is */
    int32_t second;
    int32_t constant;
    int32_t shift; /* to the left */
    struct ek_two_pixels of; /* blocks are thirds of those of a row of the window */
    int32_t rows;
    int32_t skip; /* bytes between the end of a row of the window and the start of the next one */
    const int8_t *r0; /* what is added to y0 and y1: maybe there */
    const int8_t *r1;
    int32_t pairs; /* side by side, 1 or more: counted down to 0 */
    int32_t advance; /* from the cells of a pair to those of the next one */
};
EK_ASSEMBLY_OFFSETS(struct ek_pair, 0, first, second, constant, shift);
EK_ASSEMBLY_OFFSET(struct ek_pair, of, 16);
EK_ASSEMBLY_OFFSETS(struct ek_pair, 68, rows, skip, r0, r1);
EK_ASSEMBLY_OFFSET(struct ek_pair, pairs, 84);
EK_ASSEMBLY_OFFSET(struct ek_pair, advance, 88);

/* y may be r: four numbers are read, then written. The low byte of a word is what both narrowings leave. */
#define EK_PAIR_ADD                                                                                          \
    "ldr r2, [sp, #48]\n"                                                                                    \
    "ldm r2, {r2, r7, r9, lr}\n"                                                                             \
    "vpstt\n"                                                                                                \
    "vldrbt.s32 q2, [r1], #4\n"                                                                              \
    "vldrbt.s32 q3, [r3], #4\n"                                                                              \
    "vmul.i32 q0, q0, r2\n"                                                                                  \
    "vmul.i32 q1, q1, r2\n"                                                                                  \
    "vmla.s32 q0, q2, r7\n"                                                                                  \
    "vmla.s32 q1, q3, r7\n"                                                                                  \
    "vadd.i32 q0, q0, r9\n"                                                                                  \
    "vadd.i32 q1, q1, r9\n"                                                                                  \
    "vshl.s32 q0, lr\n"                                                                                      \
    "vshl.s32 q1, lr\n"                                                                                      \
    "vqmovnb.s32 q0, q0\n"                                                                                   \
    "vqmovnb.s32 q1, q1\n"                                                                                   \
    "vqmovnb.s16 q0, q0\n"                                                                                   \
    "vqmovnb.s16 q1, q1\n"

/* Called with  r0 the pair
 * Stack        0 e, 4 r0, 8 r1, 12 y0, 16 y1, 20 b, 24 m, 28 outputs left, 32 x0, 36 x1, 40 thirds, 44 rows, 48 the pair
 * Products     as in EK_TWO_PIXELS, but for r7 rows left, r9 thirds left of a row, r11 skip
 * Rules        q0-q5 as there; r0 e, r1 r0, r3 r1, r4 y0, r6 y1, r8 b, r10 m, r12 outputs left; zero in q7, rule E has the
 *              shift in q6 */
/* clang-format off */
#define EK_PAIR(constants, requantize, add)                                                                  \
    "push {r4-r11, lr}\n"                                                                                    \
    "vpush {d8-d15}\n"                                                                                       \
    "add r12, r0, #16\n"                                                                                          \
    "sub sp, sp, #52\n"                                                                                      \
    "str r0, [sp, #48]\n"                                                                                    \
    "ldm r12!, {r0-r7}\n"                                                                                    \
    "strd r4, r5, [sp, #32]\n"                                                                               \
    "str r6, [sp]\n"                                                                                         \
    "str r7, [sp, #40]\n"                                                                                    \
    "strd r2, r3, [sp, #12]\n"                                                                               \
    "strd r0, r1, [sp, #20]\n"                                                                               \
    "ldm r12!, {r5-r8}\n"                                                                                    \
    "str r7, [sp, #28]\n"                                                                                    \
    "ldm r12!, {r0, r2, r11}\n"                                                                              \
    "vdup.32 q7, r6\n"                                                                                       \
    "vdup.32 q4, r8\n"                                                                                       \
    "vdup.32 q5, r0\n"                                                                                       \
    "str r2, [sp, #44]\n"                                                                                    \
    "ldrd r0, r2, [r12], #8\n"                                                                               \
    "strd r0, r2, [sp, #4]\n"                                                                                \
    constants                                                                                                \
    "1:\n" /* four outputs */                                                                                \
        "ldrd r1, r3, [sp, #32]\n"                                                                           \
        "ldrd r9, r7, [sp, #40]\n"                                                                           \
        EK_TWO_PIXELS_BLOCK("vmladav")                                                                       \
        "b 3f\n"                                                                                             \
        "2:\n" /* three blocks of cells; the last ones of a row, and the next row */                         \
            EK_TWO_PIXELS_BLOCK("vmladava")                                                                  \
        "3:\n"                                                                                               \
            EK_TWO_PIXELS_BLOCK("vmladava") EK_TWO_PIXELS_BLOCK("vmladava")                                  \
            "subs r9, r9, #1\n"                                                                              \
            "bne 2b\n"                                                                                       \
            "ldr r9, [sp, #40]\n"                                                                            \
            "add r1, r1, r11\n"                                                                              \
            "add r3, r3, r11\n"                                                                              \
            "subs r7, r7, #1\n"                                                                              \
            "bne 2b\n"                                                                                       \
        EK_TWO_PIXELS_JOIN("r0, r1, r3, r4, r6, r8, r10, r12", r8, r10)                                      \
        requantize                                                                                           \
        EK_TWO_PIXELS_CLAMP                                                                                  \
        "vctp.32 r12\n"                                                                                      \
        add                                                                                                  \
        "vpstt\n"                                                                                            \
        EK_TWO_PIXELS_BYTES                                                                                  \
        "subs r12, r12, #4\n"                                                                                \
        "stm sp, {r0, r1, r3, r4, r6, r8, r10, r12}\n"                                                       \
        "bgt 1b\n"                                                                                           \
        "ldr lr, [sp, #48]\n"                                                                                \
        "ldrd r2, r7, [lr, #84]\n"                                                                           \
        "subs r2, r2, #1\n"                                                                                  \
        "beq 4f\n"                                                                                           \
        "str r2, [lr, #84]\n"                                                                                \
        "ldr r8, [lr, #56]\n"                                                                                \
        "ldrd r9, r10, [sp, #32]\n"                                                                          \
        "add r12, r12, r8\n" /* the last four outputs may be too many */               \
        "add r1, r1, r12\n"                                                                                  \
        "add r3, r3, r12\n"                                                                                  \
        "strd r1, r3, [sp, #4]\n"                                                                            \
        "add r4, r4, r12\n"                                                                                  \
        "add r6, r6, r12\n"                                                                                  \
        "strd r4, r6, [sp, #12]\n"                                                                           \
        "add r9, r9, r7\n"                                                                                   \
        "add r10, r10, r7\n"                                                                                 \
        "strd r9, r10, [sp, #32]\n"                                                                          \
        "ldrd r0, r2, [lr, #16]\n"                                                                                \
        "strd r0, r2, [sp, #20]\n"                                                                           \
        "ldr r4, [lr, #40]\n"                                                                                \
        "str r4, [sp]\n"                                                                                     \
        "ldr r5, [lr, #48]\n"                                                                                \
        "str r8, [sp, #28]\n"                                                                                \
        "b 1b\n"                                                                                             \
    "4:\n"                                                                                                   \
    "add sp, sp, #52\n"                                                                                      \
    "vpop {d8-d15}\n"                                                                                        \
    "pop {r4-r11, pc}\n"
/* clang-format on */

#define EK_PAIR_EXPONENTS "vldrb.s32 q3, [r0], #4\n"

#define EK_SHARED_PAIR_RULE(NAME, constants, requantize, add)                                                \
    static EK_ASSEMBLY void ek_requantize_##NAME##_pair(const struct ek_pair *pair EK_IN_ASSEMBLY)           \
    {                                                                                                        \
        __asm volatile(EK_PAIR(constants, requantize, add));                                                 \
    }

EK_SHARED_PAIR_RULE(e, EK_TWO_PIXELS_SHIFT(0), EK_TWO_PIXELS_E(q7), "")
EK_SHARED_PAIR_RULE(tfl, "", EK_TWO_PIXELS_TFL(EK_PAIR_EXPONENTS, q7), "")
EK_SHARED_PAIR_RULE(tfl_up, "", EK_TWO_PIXELS_TFL_UP(EK_PAIR_EXPONENTS, q7), "")

/* ... and what is added. */
EK_SHARED_PAIR_RULE(e_sum, EK_TWO_PIXELS_SHIFT(0), EK_TWO_PIXELS_E(q7), EK_PAIR_ADD)
EK_SHARED_PAIR_RULE(tfl_sum, "", EK_TWO_PIXELS_TFL(EK_PAIR_EXPONENTS, q7), EK_PAIR_ADD)
EK_SHARED_PAIR_RULE(tfl_up_sum, "", EK_TWO_PIXELS_TFL_UP(EK_PAIR_EXPONENTS, q7), EK_PAIR_ADD)

#endif
