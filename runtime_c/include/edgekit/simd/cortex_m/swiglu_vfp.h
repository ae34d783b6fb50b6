/* SwiGLU with the scalar FPU of Cortex-M4, M7 and M33: exponentials of two numbers side by side.
 * stack 48 */
#ifndef EDGEKIT_SWIGLU_VFP_H
#define EDGEKIT_SWIGLU_VFP_H

#include "edgekit/simd/cortex_m/assembly.h"
#include "edgekit/types.h"

/* to = a within -174 and 174, in s19 and s18; NaN may become any of them. FPUs of Cortex-M with float64 have FPv5. */
#if defined(__ARM_FEATURE_NUMERIC_MAXMIN) || (__ARM_FP & 8)
#define EK_VFP_WITHIN(to, a)                                                                                 \
    "vmaxnm.f32 " #to "," #a ",s19\n"                                                                        \
    "vminnm.f32 " #to "," #to ",s18\n"
#else
#define EK_VFP_WITHIN(to, a)                                                                                 \
    "vmov.f32 " #to "," #a "\n"                                                                              \
    "vcmp.f32 " #a ",s18\n"                                                                                  \
    "vmrs APSR_nzcv,FPSCR\n"                                                                                 \
    "it gt\n"                                                                                                \
    "vmovgt.f32 " #to ",s18\n"                                                                               \
    "vcmp.f32 " #a ",s19\n"                                                                                  \
    "vmrs APSR_nzcv,FPSCR\n"                                                                                 \
    "it mi\n"                                                                                                \
    "vmovmi.f32 " #to ",s19\n"
#endif

/* y = a / (1 + exp(-a / 2)^2) b: the square of the exponential is infinite where a gate is far below 0, so that the quotient is
 * 0, or NaN for -infinity. -a = 2 n ln 2 - r: a polynomial in r, and n is added to its exponent.
 *
 * Called with  r0 a, r1 b, r2 y, r3 an even count, on the stack what s18 to s23 hold, and the coefficients
 * Floats       s0 s1 a, s2 s3 n, s4 s5 r, s6-s11 and s12-s17 polynomials, s18 174, s19 -174, s20 -log2(e) / 2, s21 what
 *              rounds, s22 s23 2 ln 2 */
/* clang-format off */
static EK_ASSEMBLY void ek_swiglu_pairs(const float *a EK_IN_ASSEMBLY, const float *b EK_IN_ASSEMBLY,
    float *y EK_IN_ASSEMBLY, int32_t count EK_IN_ASSEMBLY, const float *terms EK_IN_ASSEMBLY)
{
    __asm volatile(
        "push {r4-r6, lr}\n"
        "ldr r12, [sp, #16]\n"
        "vpush {s16-s23}\n"
        "vldm r12!, {s18-s23}\n"
        "1:\n"
            "vldm r0!, {s0-s1}\n"
            "vmov.f32 s2, s21\n"
            "vmov.f32 s3, s21\n"
            EK_VFP_WITHIN(s4, s0)
            EK_VFP_WITHIN(s5, s1)
            "vfma.f32 s2, s4, s20\n"
            "vfma.f32 s3, s5, s20\n"
            "vldm r12, {s6-s11}\n"
            "vldm r12, {s12-s17}\n"
            "vmov r4, r5, s2, s3\n"
            "vsub.f32 s2, s2, s21\n"
            "vsub.f32 s3, s3, s21\n"
            "vfma.f32 s4, s2, s22\n"
            "vfma.f32 s5, s3, s22\n"
            "vfma.f32 s4, s2, s23\n"
            "vfma.f32 s5, s3, s23\n"
            "vfma.f32 s7, s6, s4\n"
            "vfma.f32 s13, s12, s5\n"
            "vfma.f32 s8, s7, s4\n"
            "vfma.f32 s14, s13, s5\n"
            "vfma.f32 s9, s8, s4\n"
            "vfma.f32 s15, s14, s5\n"
            "vfma.f32 s10, s9, s4\n"
            "vfma.f32 s16, s15, s5\n"
            "vfma.f32 s11, s10, s4\n"
            "vfma.f32 s17, s16, s5\n"
            "vmov r6, s11\n"
            "vmov lr, s17\n"
            "add r6, r6, r4, lsl #23\n"
            "add lr, lr, r5, lsl #23\n"
            "vldm r1!, {s4-s5}\n"
            "vmov s2, s3, r6, lr\n"
            "vmov.f32 s6, #1.0\n"
            "vmov.f32 s7, #1.0\n"
            "vfma.f32 s6, s2, s2\n"
            "vfma.f32 s7, s3, s3\n"
            "vdiv.f32 s0, s0, s6\n"
            "vdiv.f32 s1, s1, s7\n"
            "vmul.f32 s0, s0, s4\n"
            "vmul.f32 s1, s1, s5\n"
            "vstm r2!, {s0-s1}\n"
            "subs r3, r3, #2\n"
            "bne 1b\n"
        "vpop {s16-s23}\n"
        "pop {r4-r6, pc}\n");
}
/* clang-format on */

#endif
