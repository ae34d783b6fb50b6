/* All outputs of two pixels side by side with Helium, as in gemm_mve.h, from the cells that their windows have together;
 * and their sum with what is already there, by factors.
 * stack 152 */
#ifndef EDGEKIT_GEMM_SHARED_WINDOW_MVE_H
#define EDGEKIT_GEMM_SHARED_WINDOW_MVE_H

#include "edgekit/simd/cortex_m/gemm_mve.h"

/* Two pixels of a layer, of whose windows a row is whole blocks. */
struct ek_pair {
    struct ek_two_pixels of; /* blocks are those of a row of the window */
    int32_t rows;
    int32_t skip; /* bytes between the end of a row of the window and the start of the next one */
    const int8_t *r0; /* what is added to y0 and y1: maybe there */
    const int8_t *r1;
    int32_t first; /* factors of the sum, whose first operand the convolution is */
    int32_t second;
    int32_t constant;
    int32_t shift; /* to the left */
};
EK_ASSEMBLY_OFFSET(struct ek_pair, of, 0);
EK_ASSEMBLY_OFFSET(struct ek_pair, rows, 52);
EK_ASSEMBLY_OFFSET(struct ek_pair, skip, 56);
EK_ASSEMBLY_OFFSET(struct ek_pair, r0, 60);
EK_ASSEMBLY_OFFSET(struct ek_pair, r1, 64);
EK_ASSEMBLY_OFFSET(struct ek_pair, first, 68);
EK_ASSEMBLY_OFFSET(struct ek_pair, second, 72);
EK_ASSEMBLY_OFFSET(struct ek_pair, constant, 76);
EK_ASSEMBLY_OFFSET(struct ek_pair, shift, 80);

#define EK_PAIR_STORE                                                                                        \
    "ldrd r0, r2, [sp, #8]\n"                                                                                \
    "vpstt\n"                                                                                                \
    "vstrbt.32 q0, [r0], #4\n"                                                                               \
    "vstrbt.32 q1, [r2], #4\n"                                                                               \
    "strd r0, r2, [sp, #8]\n"

/* y may be r: four numbers are read, then written. The low byte of a word is what both narrowings leave. */
#define EK_PAIR_ADD                                                                                          \
    "ldrd r4, r6, [sp, #40]\n"                                                                               \
    "ldr r0, [sp, #48]\n"                                                                                    \
    "ldm r0, {r0, r2, r8, r10}\n"                                                                            \
    "vpstt\n"                                                                                                \
    "vldrbt.s32 q2, [r4], #4\n"                                                                              \
    "vldrbt.s32 q3, [r6], #4\n"                                                                              \
    "strd r4, r6, [sp, #40]\n"                                                                               \
    "vmul.i32 q0, q0, r0\n"                                                                                  \
    "vmul.i32 q1, q1, r0\n"                                                                                  \
    "vmla.s32 q0, q2, r2\n"                                                                                  \
    "vmla.s32 q1, q3, r2\n"                                                                                  \
    "vadd.i32 q0, q0, r8\n"                                                                                  \
    "vadd.i32 q1, q1, r8\n"                                                                                  \
    "vshl.s32 q0, r10\n"                                                                                     \
    "vshl.s32 q1, r10\n"                                                                                     \
    "vqmovnb.s32 q0, q0\n"                                                                                   \
    "vqmovnb.s32 q1, q1\n"                                                                                   \
    "vqmovnb.s16 q0, q0\n"                                                                                   \
    "vqmovnb.s16 q1, q1\n"

/* Called with  r0 the pair
 * Stack        0 x0, 4 x1, 8 y0, 12 y1, 16 b, 20 m, 24 e, 28 blocks, 32 rows, 36 outputs left, 40 r0, 44 r1, 48 the factors
 * Products     as in EK_TWO_PIXELS, but for r7 rows left, r11 skip
 * Rules        as there; zero in q7, rule E has the shift in q6 */
/* clang-format off */
#define EK_PAIR(constants, requantize, add)                                                                  \
    "push {r4-r11, lr}\n"                                                                                    \
    "vpush {d8-d15}\n"                                                                                       \
    "mov r12, r0\n"                                                                                          \
    "ldm r12!, {r0-r7}\n"                                                                                    \
    "sub sp, sp, #52\n"                                                                                      \
    "stm sp, {r0-r7}\n"                                                                                      \
    "ldm r12!, {r5-r8}\n"                                                                                    \
    "ldm r12!, {r0, r2, r11}\n"                                                                              \
    "vdup.32 q7, r6\n"                                                                                       \
    "vdup.32 q4, r8\n"                                                                                       \
    "vdup.32 q5, r0\n"                                                                                       \
    "strd r2, r7, [sp, #32]\n"                                                                               \
    "ldrd r0, r2, [r12], #8\n"                                                                               \
    "strd r0, r2, [sp, #40]\n"                                                                               \
    "str r12, [sp, #48]\n"                                                                                   \
    constants                                                                                                \
    "1:\n" /* four outputs */                                                                                \
        "ldrd r1, r3, [sp]\n"                                                                                \
        "ldrd r9, r7, [sp, #28]\n"                                                                           \
        EK_TWO_PIXELS_BLOCK("vmladav")                                                                       \
        "b 3f\n"                                                                                             \
        "2:\n" /* a block of cells; the last one of a row, and the next row */                               \
            EK_TWO_PIXELS_BLOCK("vmladava")                                                                  \
        "3:\n"                                                                                               \
            "subs r9, r9, #1\n"                                                                              \
            "bne 2b\n"                                                                                       \
            "ldr r9, [sp, #28]\n"                                                                            \
            "add r1, r1, r11\n"                                                                              \
            "add r3, r3, r11\n"                                                                              \
            "subs r7, r7, #1\n"                                                                              \
            "bne 2b\n"                                                                                       \
        EK_TWO_PIXELS_JOIN                                                                                   \
        requantize                                                                                           \
        EK_TWO_PIXELS_CLAMP                                                                                  \
        "ldr r7, [sp, #36]\n"                                                                                \
        "vctp.32 r7\n"                                                                                       \
        add                                                                                                  \
        EK_PAIR_STORE                                                                                        \
        "subs r7, r7, #4\n"                                                                                  \
        "str r7, [sp, #36]\n"                                                                                \
        "bgt 1b\n"                                                                                           \
    "add sp, sp, #52\n"                                                                                      \
    "vpop {d8-d15}\n"                                                                                        \
    "pop {r4-r11, pc}\n"
/* clang-format on */

#define EK_PAIR_EXPONENTS                                                                                    \
    "ldr r0, [sp, #24]\n"                                                                                    \
    "vldrb.s32 q3, [r0], #4\n"                                                                               \
    "str r0, [sp, #24]\n"

static EK_ASSEMBLY void ek_requantize_e_pair(const struct ek_pair *pair EK_IN_ASSEMBLY)
{
    __asm volatile(EK_PAIR(EK_TWO_PIXELS_SHIFT, EK_TWO_PIXELS_E(q7), ""));
}

static EK_ASSEMBLY void ek_requantize_tfl_pair(const struct ek_pair *pair EK_IN_ASSEMBLY)
{
    __asm volatile(EK_PAIR("", EK_TWO_PIXELS_TFL(EK_PAIR_EXPONENTS, q7), ""));
}

static EK_ASSEMBLY void ek_requantize_tfl_up_pair(const struct ek_pair *pair EK_IN_ASSEMBLY)
{
    __asm volatile(EK_PAIR("", EK_TWO_PIXELS_TFL_UP(EK_PAIR_EXPONENTS, q7), ""));
}

/* ... and what is added. */
static EK_ASSEMBLY void ek_requantize_e_sum_pair(const struct ek_pair *pair EK_IN_ASSEMBLY)
{
    __asm volatile(EK_PAIR(EK_TWO_PIXELS_SHIFT, EK_TWO_PIXELS_E(q7), EK_PAIR_ADD));
}

static EK_ASSEMBLY void ek_requantize_tfl_sum_pair(const struct ek_pair *pair EK_IN_ASSEMBLY)
{
    __asm volatile(EK_PAIR("", EK_TWO_PIXELS_TFL(EK_PAIR_EXPONENTS, q7), EK_PAIR_ADD));
}

static EK_ASSEMBLY void ek_requantize_tfl_up_sum_pair(const struct ek_pair *pair EK_IN_ASSEMBLY)
{
    __asm volatile(EK_PAIR("", EK_TWO_PIXELS_TFL_UP(EK_PAIR_EXPONENTS, q7), EK_PAIR_ADD));
}

#endif
