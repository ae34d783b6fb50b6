/* A row of results of a depthwise convolution with 3 by 3 taps, by DSP instructions: channel by channel, from three rows of x
 * where they are. A column of x is read once: it adds to the results of all windows that it is in.
 * stack 60 */
#ifndef EDGEKIT_DEPTHWISE_ROWS_DSP_H
#define EDGEKIT_DEPTHWISE_ROWS_DSP_H

#include "edgekit/simd/cortex_m/fixed_dsp.h"

/* What the functions below must know. Distances are in bytes. The first six and the number of channels go on. */
struct ek_depthwise_row {
    const int8_t *x; /* the first row of the windows, from the first column that is inside */
    int8_t *y;
    const int16_t *w; /* doubled, row by row */
    const int32_t *b; /* doubled */
    const int32_t *m;
    const int8_t *e; /* -exponent - 1; not for rule E */
    int32_t channels;
    int32_t row; /* of x from one row to the next */
    int32_t step; /* from one pixel to the next */
    int32_t iterations; /* less 1, of results whose window ends inside: three in one, with strides of 2 one */
    uint32_t border; /* in_zero, twice */
    int32_t has_right; /* does the last window end in the border? */
    int32_t has_left; /* does the first one begin there? */
    int32_t offset; /* 2 zero + 1; rule E: what is added to the high word */
    int32_t shift; /* rule E: of the high word */
    int32_t more; /* results of the first iteration, if they are less than three */
    int32_t stride; /* of windows, in pixels */
};
EK_ASSEMBLY_OFFSETS(struct ek_depthwise_row, 0, x, y, w, b);
EK_ASSEMBLY_OFFSETS(struct ek_depthwise_row, 16, m, e, channels, row);
EK_ASSEMBLY_OFFSETS(struct ek_depthwise_row, 32, step, iterations, border, has_right);
EK_ASSEMBLY_OFFSETS(struct ek_depthwise_row, 48, has_left, offset, shift, more);
EK_ASSEMBLY_OFFSET(struct ek_depthwise_row, stride, 64);

/* clang-format off */
/* Two constants of a rule for a channel, in r4 and r5; r2 the row, r10 the exponent. */
#define EK_COLUMN_CONSTANTS_TFL "ldrb r4,[r10],#1\nldr r5,[r2,#52]\n"
#define EK_COLUMN_CONSTANTS_TFL_UP "ldrb r5,[r10],#1\nldr r4,[r2,#52]\nlsl.w r4,r4,r5\nadd.w r5,r5,#1\n"
#define EK_COLUMN_CONSTANTS_E "ldrd r4,r5,[r2,#52]\n"

/* A sum becomes a result: multiplier and constants are on the stack. */
#define EK_COLUMN_TFL(sum)                                                                                   \
    "ldrd r12,lr,[sp,#8]\n"                                                                                  \
    EK_HIGH(sum) EK_AWAY(sum) EK_DOWN(sum, lr)                                                               \
    "ldr r12,[sp,#16]\n"                                                                                     \
    EK_PLUS(sum, r12) EK_NEAREST_HALF(sum)
#define EK_COLUMN_SCALED(multiply, sum)                                                                      \
    "ldrd r12,lr,[sp,#8]\n"                                                                                  \
    EK_HIGH_AND(multiply, sum, lr)                                                                           \
    "ldr r12,[sp,#16]\n"                                                                                     \
    EK_DOWN(sum, r12) EK_NEAREST(sum, 8)
#define EK_COLUMN_E(sum) EK_COLUMN_SCALED("smmla", sum)
#define EK_COLUMN_TFL_UP(sum) EK_COLUMN_SCALED("smmlar", sum)

/* A column of x: the first two rows in r12, the third in lr. */
#define EK_COLUMN_LOAD                                                                                       \
    "ldrsb r12,[r0]\n"                                                                                       \
    "ldrsb lr,[r0,r1]\n"                                                                                     \
    "pkhbt r12,r12,lr,lsl #16\n"                                                                             \
    "ldrsb lr,[r0,r1,lsl #1]\n"
/* What it adds to a sum, as the first column of its window, which begins with the bias, the second, the third. */
#define EK_COLUMN_FIRST(sum)                                                                                 \
    "ldr " #sum ",[sp]\n"                                                                                    \
    "smlad " #sum ",r12,r4," #sum "\n"                                                                       \
    "smlabb " #sum ",lr,r7," #sum "\n"
#define EK_COLUMN_SECOND(sum) "smlad " #sum ",r12,r5," #sum "\nsmlabt " #sum ",lr,r7," #sum "\n"
#define EK_COLUMN_THIRD(sum) "smlad " #sum ",r12,r6," #sum "\nsmlabb " #sum ",lr,r8," #sum "\n"
#define EK_COLUMN_NEXT "add r0,r0,r2\n"

/* Called with  r0 the row
 * Stack        0 bias, 4 the row, 8 multiplier, 12 and 16 constants of the rule
 * Loop         r0 x, r1 row, r2 step, r3 y, r4-r6 weights of the first two rows, column by column, r7 and the lower half
 *              of r8 those of the third, the upper half of r8 iterations left, r9-r11 sums, r12 lr numbers of x, then constants
 * Strides      of 1: three sums rotate, and y is as far from x as r3 says; of 2: r3 is y */
#define EK_DEPTHWISE_ROW(constants, start, loop, last)                                                       \
    "push {r4-r11, lr}\n"                                                                                    \
    "sub sp, sp, #24\n"                                                                                      \
    "mov r2, r0\n"                                                                                           \
    "1:\n" /* a channel */                                                                                   \
        "ldm r2, {r0, r6-r10}\n"                                                                             \
        "ldr r1, [r8], #4\n"                                                                                 \
        "ldr r3, [r9], #4\n"                                                                                 \
        constants                                                                                            \
        "stm sp, {r1-r5}\n"                                                                                  \
        "add r0, r0, #1\n"                                                                                   \
        "add r6, r6, #1\n"                                                                                   \
        "add r7, r7, #18\n"                                                                                  \
        "stm r2, {r0, r6-r10}\n"                                                                             \
        "sub r0, r0, #1\n"                                                                                   \
        "sub r3, r6, #1\n"                                                                                   \
        "ldr r12, [r7, #-18]\n"                                                                              \
        "ldr r5, [r7, #-14]\n"                                                                               \
        "ldr r11, [r7, #-10]\n"                                                                              \
        "ldrh r8, [r7, #-2]\n"                                                                               \
        "ldr r7, [r7, #-6]\n"                                                                                \
        "ldr r9, [r2, #36]\n"                                                                                \
        "pkhtb r4, r5, r12\n"                                                                                \
        "lsr r12, r12, #16\n"                                                                                \
        "pkhtb r6, r11, r5\n"                                                                                \
        "pkhbt r5, r12, r11, lsl #16\n"                                                                      \
        "orr r8, r8, r9, lsl #16\n"                                                                          \
        "ldr r12, [r2, #40]\n"                                                                               \
        "ldr r9, [r2, #48]\n"                                                                                \
        "ldrd r1, r2, [r2, #28]\n"                                                                           \
        "mov lr, r12\n"                                                                                      \
        "cmp r9, #0\n"                                                                                       \
        "bne 2f\n"                                                                                           \
        EK_COLUMN_LOAD EK_COLUMN_NEXT                                                                        \
    "2:\n"                                                                                                   \
        start                                                                                                \
    "3:\n"                                                                                                   \
        loop                                                                                                 \
        "subs r8,r8,#65536\n"                                                                                \
        "bhs 3b\n"                                                                                           \
        "ldr r11, [sp, #4]\n"                                                                                \
        "ldrd r12, lr, [r11, #40]\n"                                                                         \
        "cmp lr, #0\n"                                                                                       \
        "beq 6f\n"                                                                                           \
        last                                                                                                 \
    "6:\n"                                                                                                   \
        "ldr r2, [sp, #4]\n"                                                                                 \
        "ldr r0, [r2, #24]\n"                                                                                \
        "subs r0, r0, #1\n"                                                                                  \
        "str r0, [r2, #24]\n"                                                                                \
        "bne.w 1b\n"                                                                                         \
    "add sp, sp, #24\n"                                                                                      \
    "pop {r4-r11, pc}\n"

#define EK_COLUMN_1(requantize, a, b, c)                                                                     \
    EK_COLUMN_LOAD EK_COLUMN_THIRD(a) EK_COLUMN_SECOND(b) EK_COLUMN_FIRST(c)                                 \
    requantize(a)                                                                                            \
    "strb " #a ",[r0,r3]\n"                                                                                  \
    EK_COLUMN_NEXT
#define EK_COLUMN_START_1                                                                                    \
    EK_COLUMN_FIRST(r10)                                                                                     \
    EK_COLUMN_LOAD EK_COLUMN_NEXT EK_COLUMN_SECOND(r10) EK_COLUMN_FIRST(r11)                                 \
    "ldr r12,[sp,#4]\n"                                                                                      \
    "sub r3,r3,r0\n"                                                                                         \
    "ldr r12,[r12,#60]\n"                                                                                    \
    "cmp r12,#1\n"                                                                                           \
    "blo 3f\n"                                                                                               \
    "itt eq\n"                                                                                               \
    "moveq r9,r10\n"                                                                                         \
    "moveq r10,r11\n"                                                                                        \
    "beq 5f\n"                                                                                               \
    "mov r9,r11\n"                                                                                           \
    "mov r11,r10\n"                                                                                          \
    "b 4f\n"
#define EK_COLUMN_LOOP_1(requantize)                                                                         \
    EK_COLUMN_1(requantize, r10, r11, r9)                                                                    \
    "4:\n"                                                                                                   \
    EK_COLUMN_1(requantize, r11, r9, r10)                                                                    \
    "5:\n"                                                                                                   \
    EK_COLUMN_1(requantize, r9, r10, r11)
#define EK_COLUMN_LAST_1(requantize)                                                                         \
    "mov lr,r12\n"                                                                                           \
    EK_COLUMN_THIRD(r10)                                                                                     \
    requantize(r10)                                                                                          \
    "strb r10,[r0,r3]\n"

#define EK_COLUMN_START_2 EK_COLUMN_FIRST(r9)
#define EK_COLUMN_LOOP_2(requantize)                                                                         \
    EK_COLUMN_LOAD EK_COLUMN_NEXT EK_COLUMN_SECOND(r9)                                                       \
    EK_COLUMN_LOAD EK_COLUMN_NEXT                                                                            \
    "smlad r11,r12,r6,r9\n"                                                                                  \
    "smlabb r11,lr,r8,r11\n"                                                                                 \
    EK_COLUMN_FIRST(r9)                                                                                      \
    requantize(r11)                                                                                          \
    "strb r11,[r3]\n"                                                                                        \
    "add r3,r3,r2\n"
#define EK_COLUMN_LAST_2(requantize)                                                                         \
    EK_COLUMN_LOAD EK_COLUMN_SECOND(r9)                                                                      \
    "ldr r12,[r11,#40]\n"                                                                                    \
    "mov lr,r12\n"                                                                                           \
    EK_COLUMN_THIRD(r9)                                                                                      \
    requantize(r9)                                                                                           \
    "strb r9,[r3]\n"
/* clang-format on */

#define EK_DEPTHWISE_ROW_RULE(NAME, RULE, stride)                                                            \
    static EK_ASSEMBLY void ek_requantize_##NAME##_depthwise_row_##stride(                                   \
        struct ek_depthwise_row *row EK_IN_ASSEMBLY)                                                         \
    {                                                                                                        \
        __asm volatile(EK_DEPTHWISE_ROW(EK_COLUMN_CONSTANTS_##RULE, EK_COLUMN_START_##stride,                \
            EK_COLUMN_LOOP_##stride(EK_COLUMN_##RULE), EK_COLUMN_LAST_##stride(EK_COLUMN_##RULE)));          \
    }

EK_DEPTHWISE_ROW_RULE(tfl, TFL, 1)
EK_DEPTHWISE_ROW_RULE(tfl, TFL, 2)
EK_DEPTHWISE_ROW_RULE(tfl_up, TFL_UP, 1)
EK_DEPTHWISE_ROW_RULE(tfl_up, TFL_UP, 2)
EK_DEPTHWISE_ROW_RULE(e, E, 1)
EK_DEPTHWISE_ROW_RULE(e, E, 2)
EK_CONSTANTS_DSP(tfl_row, tfl)
EK_CONSTANTS_DSP(tfl_up_row, tfl)
EK_CONSTANTS_DSP(e_row, e)

#endif
