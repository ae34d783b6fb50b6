/* All outputs of two pixels with Helium, requantized: assembly, because compilers keep eight sums, which must be in even
 * registers, badly; one copy for all layers.
 * stack 116 */
#ifndef EDGEKIT_GEMM_MVE_H
#define EDGEKIT_GEMM_MVE_H

#include "edgekit/simd/cortex_m/copies_dsp.h"
#include "edgekit/simd/cortex_m/fixed_mve.h"
#include "edgekit/simd/cortex_m/mve.h"

/* Two pixels of a layer. Both may be the same. The weights of four outputs lie in blocks of 16 cells, one output after the
 * other. */
struct ek_two_pixels {
    const int32_t *b;
    const int32_t *m;
    void *y0;
    void *y1;
    const int8_t *x0;
    const int8_t *x1;
    const int8_t *e;
    int32_t blocks; /* of cells, 1 or more */
    const int8_t *w;
    int32_t zero;
    int32_t outputs;
    int32_t lo;
    int32_t hi;
};
EK_ASSEMBLY_OFFSETS(struct ek_two_pixels, 0, b, m, y0, y1);
EK_ASSEMBLY_OFFSETS(struct ek_two_pixels, 16, x0, x1, e, blocks);
EK_ASSEMBLY_OFFSETS(struct ek_two_pixels, 32, w, zero, outputs, lo);
EK_ASSEMBLY_OFFSET(struct ek_two_pixels, hi, 48);

/* A block of cells, times the weights of four outputs. */
#define EK_TWO_PIXELS_BLOCK(OP)                                                                              \
    "vldrb.u8 q0, [r1], #16\n"                                                                               \
    "vldrb.u8 q2, [r5], #16\n" OP ".s8 r0, q0, q2\n"                                                         \
    "vldrb.u8 q1, [r3], #16\n" OP ".s8 r8, q1, q2\n"                                                         \
    "vldrb.u8 q3, [r5], #16\n" OP ".s8 r2, q0, q3\n" OP ".s8 r10, q1, q3\n"                                  \
    "vldrb.u8 q2, [r5], #16\n" OP ".s8 r4, q0, q2\n" OP ".s8 r12, q1, q2\n"                                  \
    "vldrb.u8 q3, [r5], #16\n" OP ".s8 r6, q0, q3\n" OP ".s8 lr, q1, q3\n"

/* Eight sums into two vectors, with biases, and the multipliers in q3: what is on the stack comes into `registers`, of which
 * one has b and one m. */
#define EK_TWO_PIXELS_JOIN(registers, b, m)                                                                  \
    "vmov q0[2], q0[0], r0, r4\n"                                                                            \
    "vmov q0[3], q0[1], r2, r6\n"                                                                            \
    "vmov q1[2], q1[0], r8, r12\n"                                                                           \
    "vmov q1[3], q1[1], r10, lr\n"                                                                           \
    "ldm sp, {" registers "}\n"                                                                              \
    "vldrw.32 q2, [" #b "], #16\n"                                                                           \
    "vldrw.32 q3, [" #m "], #16\n"                                                                           \
    "vadd.i32 q0, q0, q2\n"                                                                                  \
    "vadd.i32 q1, q1, q2\n"

#define EK_TWO_PIXELS_CLAMP                                                                                  \
    "vmax.s32 q0, q0, q4\n"                                                                                  \
    "vmax.s32 q1, q1, q4\n"                                                                                  \
    "vmin.s32 q0, q0, q5\n"                                                                                  \
    "vmin.s32 q1, q1, q5\n"

#define EK_TWO_PIXELS_BYTES                                                                                  \
    "vstrbt.32 q0, [r4], #4\n"                                                                               \
    "vstrbt.32 q1, [r6], #4\n"
#define EK_TWO_PIXELS_HALVES                                                                                 \
    "vstrht.32 q0, [r4], #8\n"                                                                               \
    "vstrht.32 q1, [r6], #8\n"

/* Called with  r0 the pixels
 * Stack        0 b, 4 m, 8 y0, 12 y1, 16 x0, 20 x1, 24 e, 28 blocks
 * Products     r1 r3 cells of the pixels, r5 w, r9 blocks left, r11 outputs left; sums of the one pixel in r0 r2 r4 r6, of
 *              the other in r8 r10 r12 lr; q0 q1 cells, q2 q3 weights
 * Rules        q0 q1 sums, q2 biases, q3 multipliers, q4 lo, q5 hi; rule E has the shift in q6 and zero in r7, others
 *              zero in q6 and the exponents in r7 */
/* clang-format off */
#define EK_TWO_PIXELS(frame, constants, add, requantize, store)                                              \
    "push {r4-r11, lr}\n"                                                                                    \
    "vpush {d8-d13}\n"                                                                                       \
    "mov r12, r0\n"                                                                                          \
    "ldm r12!, {r0-r7}\n"                                                                                    \
    "sub sp, sp, #" frame "\n"                                                                               \
    "stm sp, {r0-r7}\n"                                                                                      \
    "ldm r12!, {r5, r7, r11}\n"                                                                              \
    "ldrd r0, r2, [r12]\n"                                                                                   \
    "vdup.32 q4, r0\n"                                                                                       \
    "vdup.32 q5, r2\n"                                                                                       \
    constants                                                                                                \
    "1:\n" /* four outputs */                                                                                \
        "ldrd r1, r3, [sp, #16]\n"                                                                           \
        "ldr r9, [sp, #28]\n"                                                                                \
        EK_TWO_PIXELS_BLOCK("vmladav")                                                                       \
        "subs r9, r9, #1\n"                                                                                  \
        "beq 3f\n"                                                                                           \
        "2:\n" /* a block of cells */                                                                        \
            EK_TWO_PIXELS_BLOCK("vmladava")                                                                  \
            "subs r9, r9, #1\n"                                                                              \
            "bne 2b\n"                                                                                       \
        "3:\n"                                                                                               \
        EK_TWO_PIXELS_JOIN("r0, r2, r4, r6", r0, r2)                                                         \
        add requantize                                                                                       \
        EK_TWO_PIXELS_CLAMP                                                                                  \
        "vctp.32 r11\n"                                                                                      \
        "vpstt\n"                                                                                            \
        store                                                                                                \
        "stm sp, {r0, r2, r4, r6}\n"                                                                         \
        "subs r11, r11, #4\n"                                                                                \
        "bgt 1b\n"                                                                                           \
    "add sp, sp, #" frame "\n"                                                                               \
    "vpop {d8-d13}\n"                                                                                        \
    "pop {r4-r11, pc}\n"
/* clang-format on */

/* Of rule E, whose exponent is at this place of the stack. */
#define EK_TWO_PIXELS_SHIFT(e)                                                                               \
    "ldr r0, [sp, #" #e "]\n"                                                                                \
    "ldrsb r0, [r0]\n"                                                                                       \
    "rsb r0, r0, #32\n"                                                                                      \
    "vdup.32 q6, r0\n"
#define EK_TWO_PIXELS_EXPONENTS                                                                              \
    "vdup.32 q6, r7\n"                                                                                       \
    "ldr r7, [sp, #24]\n"

#define EK_TWO_PIXELS_LOAD "vldrb.s32 q3, [r7], #4\n"

/* The function, and its exponents from output o on: rule E has one for all. */
#define EK_TWO_PIXELS_RULE(NAME, each, constants, requantize, NUMBERS)                                       \
    static inline const int8_t *ek_requantize_##NAME##_exponents_at(const int8_t *e, int32_t o)              \
    {                                                                                                        \
        return each ? e + o : e;                                                                             \
    }                                                                                                        \
    static EK_ASSEMBLY void ek_requantize_##NAME##_two_pixels(                                               \
        const struct ek_two_pixels *pixels EK_IN_ASSEMBLY)                                                   \
    {                                                                                                        \
        __asm volatile(EK_TWO_PIXELS("32", constants, "", requantize, EK_TWO_PIXELS_##NUMBERS));             \
    }

EK_TWO_PIXELS_RULE(e, 0, EK_TWO_PIXELS_SHIFT(24), EK_TWO_PIXELS_E(r7), BYTES)
EK_TWO_PIXELS_RULE(e_up, 0, EK_TWO_PIXELS_SHIFT(24), EK_TWO_PIXELS_E_UP(r7), BYTES)
EK_TWO_PIXELS_RULE(e_s8_s16, 0, EK_TWO_PIXELS_SHIFT(24), EK_TWO_PIXELS_E(r7), HALVES)
EK_TWO_PIXELS_RULE(e_up_s8_s16, 0, EK_TWO_PIXELS_SHIFT(24), EK_TWO_PIXELS_E_UP(r7), HALVES)
EK_TWO_PIXELS_RULE(tfl, 1, EK_TWO_PIXELS_EXPONENTS, EK_TWO_PIXELS_TFL(EK_TWO_PIXELS_LOAD, q6), BYTES)
EK_TWO_PIXELS_RULE(tfl_up, 1, EK_TWO_PIXELS_EXPONENTS, EK_TWO_PIXELS_TFL_UP(EK_TWO_PIXELS_LOAD, q6), BYTES)

#endif
