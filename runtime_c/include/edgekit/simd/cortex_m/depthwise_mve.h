/* All channels of a pixel of a depthwise convolution with Helium, 16 at once, requantized: assembly, because compilers
 * store and load the four vectors of sums; one copy for all layers. Two products fit into 16 bits; their sums go to 32
 * bits in four vectors, every fourth channel in each.
 * stack 116 */
#ifndef EDGEKIT_DEPTHWISE_MVE_H
#define EDGEKIT_DEPTHWISE_MVE_H

#include "edgekit/simd/cortex_m/copies_dsp.h"
#include "edgekit/simd/cortex_m/fixed_mve.h"
#include "edgekit/simd/cortex_m/mve.h"

/* Pixels side by side. Constants of 16 channels are in the order of the sums: channels 0, 4, 8, 12, then 2, ..., 1, ..., 3,
 * ... */
struct ek_channels {
    const int8_t **cells; /* of the window of the first pixel: their first channels */
    const int8_t *w; /* of 16 channels, tap by tap */
    const int32_t *b;
    const int32_t *m;
    const int8_t *e;
    int32_t channels;
    int32_t taps;
    int8_t *y;
    int32_t zero;
    int32_t lo;
    int32_t hi;
    int32_t step; /* from the cells of a pixel to those of the next one */
    int32_t pixels; /* counted down to 0 */
};
EK_ASSEMBLY_OFFSETS(struct ek_channels, 0, cells, w, b, m);
EK_ASSEMBLY_OFFSETS(struct ek_channels, 16, e, channels, taps, y);
EK_ASSEMBLY_OFFSETS(struct ek_channels, 32, zero, lo, hi, step);
EK_ASSEMBLY_OFFSET(struct ek_channels, pixels, 48);

#define EK_TAPS_ADD                                                                                          \
    "vmovlb.s16 q6, q4\n"                                                                                    \
    "vmovlt.s16 q4, q4\n"                                                                                    \
    "vadd.i32 q0, q0, q6\n"                                                                                  \
    "vadd.i32 q1, q1, q4\n"                                                                                  \
    "vmovlb.s16 q6, q5\n"                                                                                    \
    "vmovlt.s16 q5, q5\n"                                                                                    \
    "vadd.i32 q2, q2, q6\n"                                                                                  \
    "vadd.i32 q3, q3, q5\n"

/* Called with  r0 the pixels
 * Stack        0 zero, 4 lo, 8 hi, 12 the pixels
 * Loops        r0 the cells, r1 w, r2 b, r3 m, r4 e, r5 y, r6 channels left, r7 taps, r8 the cell, r9 pairs of taps left,
 *              r10 the pixel and r11 its channel, in bytes, r12 lr two cells
 * Products     q0-q3 sums, q4 q5 sums of two products, q6 cells, q7 weights; x' is read twice, as there are registers for
 *              three vectors beside the sums and their halves
 * Rules        q0-q3 sums, q4 multipliers, q5 exponents, q6 signs; rule E has the shift in q7 */
/* clang-format off */
#define EK_TAPS(constants, requantize)                                                                       \
    "push {r4-r11, lr}\n"                                                                                    \
    "vpush {d8-d15}\n"                                                                                       \
    "mov r11, r0\n"                                                                                          \
    "ldr r5, [r0, #28]\n"                                                                                    \
    "add r12, r0, #32\n"                                                                                     \
    "ldm r12, {r8-r10}\n"                                                                                    \
    "push {r8-r11}\n"                                                                                        \
    "mov r10, #0\n"                                                                                          \
    "5:\n" /* a pixel */                                                                                     \
        "ldr lr, [sp, #12]\n"                                                                                \
        "ldm lr, {r0-r4, r6, r7}\n"                                                                          \
        "mov r11, r10\n"                                                                                     \
        "1:\n" /* 16 channels */                                                                             \
            "vldrw.32 q0, [r2], #16\n"                                                                       \
            "vldrw.32 q1, [r2], #16\n"                                                                       \
            "vldrw.32 q2, [r2], #16\n"                                                                       \
            "vldrw.32 q3, [r2], #16\n"                                                                       \
            "mov r8, r0\n"                                                                                   \
            "lsrs r9, r7, #1\n"                                                                              \
            "beq 3f\n"                                                                                       \
            "2:\n" /* two taps */                                                                            \
                "ldrd r12, lr, [r8], #8\n"                                                                   \
                "vldrb.u8 q7, [r1], #16\n"                                                                   \
                "add r12, r11\n"                                                                             \
                "vldrb.u8 q6, [r12]\n"                                                                       \
                "add lr, r11\n"                                                                              \
                "vmullb.s8 q4, q6, q7\n"                                                                     \
                "vmullt.s8 q5, q6, q7\n"                                                                     \
                "vldrb.u8 q7, [r1], #16\n"                                                                   \
                "vldrb.u8 q6, [lr]\n"                                                                        \
                "vmullb.s8 q6, q6, q7\n"                                                                     \
                "vadd.i16 q4, q4, q6\n"                                                                      \
                "vldrb.u8 q6, [lr]\n"                                                                        \
                "vmullt.s8 q6, q6, q7\n"                                                                     \
                "vadd.i16 q5, q5, q6\n"                                                                      \
                EK_TAPS_ADD                                                                                  \
                "subs r9, r9, #1\n"                                                                          \
                "bne 2b\n"                                                                                   \
            "3:\n" /* an odd one */                                                                          \
                "tst r7, #1\n"                                                                               \
                "beq 4f\n"                                                                                   \
                "ldr r12, [r8]\n"                                                                            \
                "vldrb.u8 q7, [r1], #16\n"                                                                   \
                "add r12, r11\n"                                                                             \
                "vldrb.u8 q6, [r12]\n"                                                                       \
                "vmullb.s8 q4, q6, q7\n"                                                                     \
                "vmullt.s8 q5, q6, q7\n"                                                                     \
                EK_TAPS_ADD                                                                                  \
            "4:\n"                                                                                           \
            constants                                                                                        \
            requantize(q0) requantize(q1) requantize(q2) requantize(q3)                                      \
            "ldr r12, [sp]\n"                                                                                \
            "vqmovnb.s32 q0, q0\n"                                                                           \
            "vqmovnt.s32 q0, q1\n"                                                                           \
            "vqmovnb.s32 q2, q2\n"                                                                           \
            "vqmovnt.s32 q2, q3\n"                                                                           \
            "vqadd.s16 q0, q0, r12\n"                                                                        \
            "vqadd.s16 q2, q2, r12\n"                                                                        \
            "ldrd r12, lr, [sp, #4]\n"                                                                       \
            "vqmovnb.s16 q0, q0\n"                                                                           \
            "vqmovnt.s16 q0, q2\n"                                                                           \
            "vdup.8 q1, r12\n"                                                                               \
            "vdup.8 q2, lr\n"                                                                                \
            "vmax.s8 q0, q0, q1\n"                                                                           \
            "vmin.s8 q0, q0, q2\n"                                                                           \
            "vctp.8 r6\n"                                                                                    \
            "vpst\n"                                                                                         \
            "vstrbt.8 q0, [r5], #16\n"                                                                       \
            "add r11, r11, #16\n"                                                                            \
            "subs r6, r6, #16\n"                                                                             \
            "bgt 1b\n"                                                                                       \
        "ldr lr, [sp, #12]\n"                                                                                \
        "add r5, r5, r6\n"                                                                                   \
        "ldrd r0, r1, [lr, #44]\n"                                                                           \
        "add r10, r10, r0\n"                                                                                 \
        "subs r1, r1, #1\n"                                                                                  \
        "str r1, [lr, #48]\n"                                                                                \
        "bgt 5b\n"                                                                                           \
    "add sp, sp, #16\n"                                                                                      \
    "vpop {d8-d15}\n"                                                                                        \
    "pop {r4-r11, pc}\n"
/* clang-format on */

/* Rule E has one exponent for all channels. */
#define EK_TAPS_SHIFT "ldrsb r12, [r4]\nrsb r12, r12, #32\nvdup.32 q7, r12\n"

#define EK_TAPS_RULE(NAME, constants, requantize)                                                            \
    static EK_ASSEMBLY void ek_requantize_##NAME##_channels(struct ek_channels *pixels EK_IN_ASSEMBLY)       \
    {                                                                                                        \
        __asm volatile(EK_TAPS(constants, requantize));                                                      \
    }

EK_TAPS_RULE(e, EK_TAPS_SHIFT, EK_TAPS_E)
EK_TAPS_RULE(tfl, "", EK_TAPS_TFL)
EK_TAPS_RULE(tfl_up, "", EK_TAPS_TFL_UP)

#endif
