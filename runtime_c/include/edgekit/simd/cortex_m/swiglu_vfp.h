/* SwiGLU with the scalar FPU of Cortex-M4, M7 and M33: exponentials of two numbers side by side.
 * stack 72 */
#ifndef EDGEKIT_SWIGLU_VFP_H
#define EDGEKIT_SWIGLU_VFP_H

#include "edgekit/simd/cortex_m/assembly.h"
#include "edgekit/simd/cortex_m/exp2_vfp.h"
#include "edgekit/types.h"

/* 0 in place of e where |a| is above 87, or NaN; a and e are bits. */
#define EK_SWIGLU_NEAR(a, e)                                                                                 \
    "cmp r10," #a ",lsl #1\n"                                                                                \
    "it lo\n"                                                                                                \
    "movlo " #e ",#0\n"

/* 1 in place of e where a is not below 0. */
#if EK_VFP_IS_FPV5
#define EK_SWIGLU_ABOVE(a, e)                                                                                \
    "cmp " #a ",#0\n"                                                                                        \
    "vselge.f32 " #e ",s23," #e "\n"
#else
#define EK_SWIGLU_ABOVE(a, e)                                                                                \
    "cmp " #a ",#0\n"                                                                                        \
    "it ge\n"                                                                                                \
    "vmovge.f32 " #e ",s23\n"
#endif

/* y = (s - s e / (1 + e)) a b, and e = exp(-|a|), which is s where a is below 0, else s is 1.
 *
 * Called with  r0 a, r1 b, r2 y, r3 an even count, on the stack 87, what s20-s24 hold, and the coefficients
 * Integers     r4 r5 whole parts, r6 lr e, r7 r8 a, r10 twice the bits of 87, r12 the coefficients
 * Floats       s0 s1 a, s2 s3 |a|, the rests and e, s4 s5 quotients, s4-s17 polynomials, s18 s19 whole parts, s20 -log2(e),
 *              s21 what rounds, s22 s24 -ln(2) and ln(2) in two parts, s23 1 */
/* clang-format off */
static EK_ASSEMBLY void ek_swiglu_pairs(const float *a EK_IN_ASSEMBLY, const float *b EK_IN_ASSEMBLY,
    float *y EK_IN_ASSEMBLY, int32_t count EK_IN_ASSEMBLY, const float *terms EK_IN_ASSEMBLY)
{
    __asm volatile(
        "push {r4-r8, r10, r12, lr}\n"
        "ldr r12, [sp, #32]\n"
        "vpush {s16-s25}\n"
        "ldr r10, [r12], #4\n"
        "lsl r10, r10, #1\n"
        "vldm r12!, {s20-s24}\n"
        "1:\n"
            "ldrd r7, r8, [r0], #8\n"
            "vmov s0, s1, r7, r8\n"
            "vabs.f32 s2, s0\n"
            "vabs.f32 s3, s1\n"
            "vmul.f32 s18, s2, s20\n"
            "vmul.f32 s19, s3, s20\n"
            EK_WHOLE_PAIR(s18, s19, s18, s19, s21, r4, r5)
            "vnmls.f32 s2, s18, s22\n"
            "vnmls.f32 s3, s19, s22\n"
            "vmls.f32 s2, s18, s24\n"
            "vmls.f32 s3, s19, s24\n"
            EK_POWER_PAIR(s2, s3, r12, r4, r5, r6, lr)
            EK_SWIGLU_NEAR(r7, r6)
            EK_SWIGLU_NEAR(r8, lr)
            "vmov s2, s3, r6, lr\n"
            "vadd.f32 s4, s2, s23\n"
            "vadd.f32 s5, s3, s23\n"
            "vdiv.f32 s4, s2, s4\n"
            "vdiv.f32 s5, s3, s5\n"
            EK_SWIGLU_ABOVE(r7, s2)
            EK_SWIGLU_ABOVE(r8, s3)
            "vmls.f32 s2, s2, s4\n"
            "vmls.f32 s3, s3, s5\n"
            "vldm r1!, {s4-s5}\n"
            "vmul.f32 s0, s2, s0\n"
            "vmul.f32 s1, s3, s1\n"
            "vmul.f32 s0, s0, s4\n"
            "vmul.f32 s1, s1, s5\n"
            "vstm r2!, {s0-s1}\n"
            "subs r3, r3, #2\n"
            "bne 1b\n"
        "vpop {s16-s25}\n"
        "pop {r4-r8, r10, r12, pc}\n");
}
/* clang-format on */

#endif
