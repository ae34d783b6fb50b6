/* The requantization rules on Cortex-M0+ for sums of 30 bits, four of each output: the high word of a product comes from four 16-bit
 * partial products. Assembly, because compilers store and load what fits into its registers.
 * stack 48 */
#ifndef EDGEKIT_QUADS_THUMB1_H
#define EDGEKIT_QUADS_THUMB1_H

#include "edgekit/simd/cortex_m/assembly.h"
#include "edgekit/types.h"

struct ek_quads {
    const int8_t *e;
    const int32_t *end; /* of the sums */
    int32_t twice; /* 2 (zero - lo) + 1 */
    int32_t room; /* lo - hi */
    int32_t hi;
    int32_t step; /* of y, from a pixel to the next */
    int32_t bytes; /* of the sums of an output, */
    int32_t skipped; /* after these, up to those of the next one, */
    int32_t back; /* and in y from its last pixel to the first one of the next */
};
EK_ASSEMBLY_OFFSETS(struct ek_quads, 0, e, end, twice, room);
EK_ASSEMBLY_OFFSETS(struct ek_quads, 16, hi, step, bytes, skipped);
EK_ASSEMBLY_OFFSET(struct ek_quads, back, 32);

/* What up to four pixels need, whose outputs are bytes, `step` of them a pixel. */
static inline struct ek_quads ek_quads_of(int32_t count, int32_t step, int32_t zero, int32_t lo, int32_t hi)
{
    const struct ek_quads p = {
        0, 0, 2 * (zero - lo) + 1, lo - hi, hi, step, 4 * count, 16 - 4 * count, 1 - count * step};
    return p;
}

/* Exponents, packed as -e - 1, into r5, which shifts by one more; that of rule E is one for all outputs. */
#define EK_QUADS_SHIFT                                                                                       \
    "ldrb r5, [r0]\n"                                                                                        \
    "adds r0, #1\n"                                                                                          \
    "adds r5, #1\n"
#define EK_QUADS_SHIFT_E                                                                                     \
    "movs r5, #222\n"                                                                                        \
    "ldrb r1, [r0]\n"                                                                                        \
    "subs r5, r5, r1\n"

/* r0 = 2^(16 - bits) r1 + 2^(32 - bits) r0, then what the rule rounds before the shift. */
#define EK_QUADS_ABOVE_32 "asrs r1, #16\nadds r0, r1\n"
#define EK_QUADS_ABOVE_30 "lsls r0, #2\nasrs r1, #14\nadds r0, r1\nadds r0, #1\n"
#define EK_QUADS_AWAY "asrs r1, r0, #31\nlsls r1, #1\nadds r0, r1\n"

/* Results of whole outputs, up to four pixels each, from output o on.
 *
 * Called with  r0 sums, r1 y, r2 m, r3 parameters
 * Stack        0 e, 4 m, 8 the parameters from `bytes` on
 * Loop         r0 high half, r1 low half, r2 a partial product, r3-r4 halves of m, r5 shift, r6 sums, r7 y, r8 twice, r9 room,
 *              r10 hi, r11 step, r12 end of an output, lr end */
/* clang-format off */
#define EK_QUADS_CODE(SHIFT, ABOVE)                                                                          \
    ".syntax unified\n"                                                                                      \
    "push {r4-r7, lr}\n"                                                                                     \
    "mov r4, r8\n"                                                                                           \
    "mov r5, r9\n"                                                                                           \
    "mov r6, r10\n"                                                                                          \
    "mov r7, r11\n"                                                                                          \
    "push {r4-r7}\n"                                                                                         \
    "movs r6, r0\n"                                                                                          \
    "movs r7, r1\n"                                                                                          \
    "ldm r3!, {r0, r1, r4, r5}\n"                                                                            \
    "mov lr, r1\n"                                                                                           \
    "mov r8, r4\n"                                                                                           \
    "mov r9, r5\n"                                                                                           \
    "ldm r3!, {r4, r5}\n"                                                                                    \
    "mov r10, r4\n"                                                                                          \
    "mov r11, r5\n"                                                                                          \
    "push {r0, r2, r3}\n"                                                                                    \
    "1:\n" /* an output */                                                                                   \
        "pop {r0, r2, r3}\n"                                                                                 \
        "ldr r4, [r3]\n"                                                                                     \
        "adds r4, r6\n"                                                                                      \
        "mov r12, r4\n"                                                                                      \
        SHIFT                                                                                                \
        "ldm r2!, {r4}\n"                                                                                    \
        "push {r0, r2, r3}\n"                                                                                \
        "uxth r3, r4\n"                                                                                      \
        "lsrs r4, #16\n"                                                                                     \
        "2:\n" /* a pixel */                                                                                 \
            "ldm r6!, {r0}\n"                                                                                \
            "sxth r1, r0\n"                                                                                  \
            "subs r0, r0, r1\n"                                                                              \
            "asrs r0, #16\n"                                                                                 \
            "movs r2, r1\n"                                                                                  \
            "muls r2, r3\n"                                                                                  \
            "asrs r2, #16\n"                                                                                 \
            "muls r1, r4\n"                                                                                  \
            "adds r1, r2\n"                                                                                  \
            "movs r2, r0\n"                                                                                  \
            "muls r2, r3\n"                                                                                  \
            "adds r1, r2\n"                                                                                  \
            "muls r0, r4\n"                                                                                  \
            ABOVE                                                                                            \
            "asrs r0, r5\n"                                                                                  \
            "add r0, r8\n"                                                                                   \
            "asrs r0, #1\n"                                                                                  \
            "asrs r1, r0, #31\n"                                                                             \
            "bics r0, r1\n"                                                                                  \
            "add r0, r9\n"                                                                                   \
            "asrs r1, r0, #31\n"                                                                             \
            "ands r0, r1\n"                                                                                  \
            "add r0, r10\n"                                                                                  \
            "strb r0, [r7]\n"                                                                                \
            "add r7, r11\n"                                                                                  \
            "cmp r6, r12\n"                                                                                  \
            "bne 2b\n"                                                                                       \
        "ldr r2, [sp, #8]\n"                                                                                 \
        "ldr r0, [r2, #4]\n"                                                                                 \
        "adds r6, r0\n"                                                                                      \
        "ldr r0, [r2, #8]\n"                                                                                 \
        "adds r7, r0\n"                                                                                      \
        "cmp r6, lr\n"                                                                                       \
        "bne 1b\n"                                                                                           \
    "add sp, #12\n"                                                                                          \
    "pop {r4-r7}\n"                                                                                          \
    "mov r8, r4\n"                                                                                           \
    "mov r9, r5\n"                                                                                           \
    "mov r10, r6\n"                                                                                          \
    "mov r11, r7\n"                                                                                          \
    "pop {r4-r7, pc}\n"
/* clang-format on */

#define EK_QUADS(rule, each, SHIFT, ABOVE)                                                                   \
    static EK_ASSEMBLY void ek_results_##rule##_quads(const int32_t *sums EK_IN_ASSEMBLY,                    \
        int8_t *y EK_IN_ASSEMBLY, const int32_t *m EK_IN_ASSEMBLY, const struct ek_quads *p EK_IN_ASSEMBLY)  \
    {                                                                                                        \
        __asm volatile(EK_QUADS_CODE(SHIFT, ABOVE));                                                         \
    }                                                                                                        \
    static inline void ek_requantize_##rule##_quads(const int32_t *sums, const int32_t *end,                 \
        const int32_t *m, const int8_t *e, int32_t o, int8_t *y, struct ek_quads *p)                         \
    {                                                                                                        \
        p->e = e + (each) * o;                                                                               \
        p->end = end;                                                                                        \
        ek_results_##rule##_quads(sums, y, m + o, p);                                                        \
    }

EK_QUADS(e, 0, EK_QUADS_SHIFT_E, EK_QUADS_ABOVE_32)
EK_QUADS(tfl, 1, EK_QUADS_SHIFT, EK_QUADS_ABOVE_30 EK_QUADS_AWAY)
EK_QUADS(tfl_up, 1, EK_QUADS_SHIFT, EK_QUADS_ABOVE_30)

#endif
