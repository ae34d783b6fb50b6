/* Normalization of rows by their size with the scalar FPU of Cortex-M4, M7 and M33.
 * stack 64 */
#ifndef EDGEKIT_RMS_NORM_VFP_H
#define EDGEKIT_RMS_NORM_VFP_H

#include "edgekit/simd/cortex_m/assembly.h"
#include "edgekit/types.h"

/* The sum of squares of so many sixteens and a last one, in sixteen lanes, which are added from the first one on.
 *
 * Called with  r0 x, r1 sixteens before the last one, r2 the last one, r3 the sum
 * Floats       s0-s15 lanes, s16-s31 x */
/* clang-format off */
static EK_ASSEMBLY void ek_sum_of_squares(const float *x EK_IN_ASSEMBLY, int32_t before EK_IN_ASSEMBLY,
    const float *last EK_IN_ASSEMBLY, float *sum EK_IN_ASSEMBLY)
{
    __asm volatile(
        "vpush {s16-s31}\n"
        "mov r12, #0\n"
        "vmov d0, r12, r12\n" "vmov d1, r12, r12\n" "vmov d2, r12, r12\n" "vmov d3, r12, r12\n"
        "vmov d4, r12, r12\n" "vmov d5, r12, r12\n" "vmov d6, r12, r12\n" "vmov d7, r12, r12\n"
        "1:\n"
            "cmp r1, #0\n"
            "it eq\n"
            "moveq r0, r2\n"
            "vldm r0!, {s16-s31}\n"
            "vmla.f32 s0, s16, s16\n" "vmla.f32 s1, s17, s17\n" "vmla.f32 s2, s18, s18\n" "vmla.f32 s3, s19, s19\n"
            "vmla.f32 s4, s20, s20\n" "vmla.f32 s5, s21, s21\n" "vmla.f32 s6, s22, s22\n" "vmla.f32 s7, s23, s23\n"
            "vmla.f32 s8, s24, s24\n" "vmla.f32 s9, s25, s25\n" "vmla.f32 s10, s26, s26\n" "vmla.f32 s11, s27, s27\n"
            "vmla.f32 s12, s28, s28\n" "vmla.f32 s13, s29, s29\n" "vmla.f32 s14, s30, s30\n" "vmla.f32 s15, s31, s31\n"
            "subs r1, r1, #1\n"
            "bpl 1b\n"
        "vadd.f32 s0, s0, s1\n" "vadd.f32 s0, s0, s2\n" "vadd.f32 s0, s0, s3\n" "vadd.f32 s0, s0, s4\n"
        "vadd.f32 s0, s0, s5\n" "vadd.f32 s0, s0, s6\n" "vadd.f32 s0, s0, s7\n" "vadd.f32 s0, s0, s8\n"
        "vadd.f32 s0, s0, s9\n" "vadd.f32 s0, s0, s10\n" "vadd.f32 s0, s0, s11\n" "vadd.f32 s0, s0, s12\n"
        "vadd.f32 s0, s0, s13\n" "vadd.f32 s0, s0, s14\n" "vadd.f32 s0, s0, s15\n"
        "vstr s0, [r3]\n"
        "vpop {s16-s31}\n"
        "bx lr\n");
}
/* clang-format on */

/* y = x inverse scale of eight numbers. */
EK_INLINE void ek_normalize_eight(const float **x, const float **scale, float **y, const float inverse)
{
    __asm volatile("vldm %[x]!, {s0-s7}\n"
                   "vldm %[scale]!, {s8-s15}\n"
                   "vmul.f32 s0, s0, %[inverse]\n"
                   "vmul.f32 s1, s1, %[inverse]\n"
                   "vmul.f32 s2, s2, %[inverse]\n"
                   "vmul.f32 s3, s3, %[inverse]\n"
                   "vmul.f32 s4, s4, %[inverse]\n"
                   "vmul.f32 s5, s5, %[inverse]\n"
                   "vmul.f32 s6, s6, %[inverse]\n"
                   "vmul.f32 s7, s7, %[inverse]\n"
                   "vmul.f32 s0, s0, s8\n"
                   "vmul.f32 s1, s1, s9\n"
                   "vmul.f32 s2, s2, s10\n"
                   "vmul.f32 s3, s3, s11\n"
                   "vmul.f32 s4, s4, s12\n"
                   "vmul.f32 s5, s5, s13\n"
                   "vmul.f32 s6, s6, s14\n"
                   "vmul.f32 s7, s7, s15\n"
                   "vstm %[y]!, {s0-s7}"
        : [x] "+r"(*x), [scale] "+r"(*scale), [y] "+r"(*y)
        : [inverse] "t"(inverse)
        : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14",
        "s15", "memory");
}

#endif
