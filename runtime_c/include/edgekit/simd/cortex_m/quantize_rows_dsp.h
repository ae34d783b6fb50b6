/* Rows of floats to int8, four at a time, with DSP instructions and an FPU.
 * stack 12 */
#ifndef EDGEKIT_QUANTIZE_ROWS_DSP_H
#define EDGEKIT_QUANTIZE_ROWS_DSP_H

#include "edgekit/simd/cortex_m/assembly.h"
#include "edgekit/types.h"

/* r2 is twice the magnitude of a float, as an integer, where it is smaller. */
#define EK_LARGER_MAGNITUDE(x)                                                                               \
    "cmp r2, " #x ", lsl #1\n"                                                                               \
    "it lo\n"                                                                                                \
    "lsllo r2, " #x ", #1\n"

/* Twice the largest magnitude of so many fours, as an integer.
 *
 * Called with  r0 x, r1 fours */
/* clang-format off */
static EK_ASSEMBLY uint32_t ek_largest_magnitude(const float *x EK_IN_ASSEMBLY, int32_t fours EK_IN_ASSEMBLY)
{
    __asm volatile(
        "push {r4, r5, lr}\n"
        "movs r2, #0\n"
        "1:\n"
            "ldm r0!, {r3-r5, r12}\n"
            EK_LARGER_MAGNITUDE(r3) EK_LARGER_MAGNITUDE(r4) EK_LARGER_MAGNITUDE(r5) EK_LARGER_MAGNITUDE(r12)
            "subs r1, r1, #1\n"
            "bne 1b\n"
        "mov r0, r2\n"
        "pop {r4, r5, pc}\n");
}

/* y = x factor, rounded: the low byte of a float that counts in ones, and has room for a sign.
 *
 * Called with  r0 x, r1 y, r2 fours, r3 the factor */
static EK_ASSEMBLY void ek_rounded_fours(const float *x EK_IN_ASSEMBLY, int8_t *y EK_IN_ASSEMBLY,
    int32_t fours EK_IN_ASSEMBLY, const float *factor EK_IN_ASSEMBLY)
{
    __asm volatile(
        "push {r4, r5, lr}\n"
        "vldr s4, [r3]\n"
        "mov r3, #0x4B000000\n"
        "orr r3, r3, #0x00400000\n" /* 1.5 2^23 */
        "vmov s5, r3\n"
        "1:\n"
            "vldm r0!, {s0-s3}\n"
            "vmul.f32 s0, s0, s4\n"
            "vmul.f32 s1, s1, s4\n"
            "vmul.f32 s2, s2, s4\n"
            "vmul.f32 s3, s3, s4\n"
            "vadd.f32 s0, s0, s5\n"
            "vadd.f32 s1, s1, s5\n"
            "vadd.f32 s2, s2, s5\n"
            "vadd.f32 s3, s3, s5\n"
            "vmov r3, r4, s0, s1\n"
            "vmov r5, r12, s2, s3\n"
            "bfi r3, r4, #8, #8\n"
            "bfi r3, r5, #16, #8\n"
            "bfi r3, r12, #24, #8\n"
            "str r3, [r1], #4\n"
            "subs r2, r2, #1\n"
            "bne 1b\n"
        "pop {r4, r5, pc}\n");
}
/* clang-format on */

#endif
