/* Scores of keys and their exponentials with Helium, four at a time. Assembly, because NaN has to stay: of the comparisons
 * of vectors, GE and GT alone are false for it, and compilers take LT. */
#ifndef EDGEKIT_ATTENTION_MVE_H
#define EDGEKIT_ATTENTION_MVE_H

#include <arm_mve.h>

#include "edgekit/types.h"

/* clang-format off */
/* Multiplies n scores by the scale, and returns the largest of them and of `most`. q0 four scores, q1 the largest. */
static inline float ek_mve_scaled_scores(float *w, int32_t n, const float scale, float most)
{
    __asm volatile(
        "vdup.32 q1, %[most]\n"
        "wlstp.32 lr, %[n], 2f\n"
        "1:\n"
            "vldrw.u32 q0, [%[w]]\n"
            "vmul.f32 q0, q0, %[scale]\n"
            "vmaxnm.f32 q1, q1, q0\n"
            "vstrw.32 q0, [%[w]], #16\n"
            "letp lr, 1b\n"
        "2:\n"
        "vmaxnmv.f32 %[most], q1\n"
        : [w] "+r"(w), [most] "+r"(most)
        : [n] "r"(n), [scale] "r"(scale)
        : "q0", "q1", "lr", "memory");
    return most;
}

/* Replaces n scores by 2^(score - most), which is 2^-126 at least. x = n + r: a polynomial in r, and n is added to its
 * exponent. Products are rounded before they are added, as on other processors. General registers are few where one is a frame
 * pointer.
 *
 * r1 to r8 the coefficients; q0 r, q2 n, q3 the polynomial */
static inline void ek_mve_powers(float *w0, int32_t n, const float most)
{
    /* Those of ek_exp2_poly_f32. */
    static const float terms[] = {0.00015366725f, 0.00133926398f, 0.00961842574f, 0.0555035844f, 0.240226477f,
        0.693147182f, 1.0f};
    const float32x4_t least = vdupq_n_f32(-126.0f);
    const float32x4_t ones = vdupq_n_f32(12582912.0f); /* which rounds to ones */
    register float *w __asm("r0") = w0;
    register const float *numbers __asm("r9") = terms;
    __asm volatile(
        "ldm r9, {r1-r6, r8}\n"
        "wlstp.32 lr, %[n], 2f\n"
        "1:\n"
            "vldrw.u32 q0, [r0]\n"
            "vsub.f32 q0, q0, %[most]\n"
            "vpt.f32 ge, %q[least], q0\n"
            "vmovt q0, %q[least]\n"
            "vadd.f32 q2, q0, %q[ones]\n"
            "vsub.f32 q3, q2, %q[ones]\n"
            "vsub.f32 q0, q0, q3\n"
            "vmul.f32 q3, q0, r1\n"
            "vadd.f32 q3, q3, r2\n"
            "vmul.f32 q3, q3, q0\n"
            "vadd.f32 q3, q3, r3\n"
            "vmul.f32 q3, q3, q0\n"
            "vadd.f32 q3, q3, r4\n"
            "vmul.f32 q3, q3, q0\n"
            "vadd.f32 q3, q3, r5\n"
            "vmul.f32 q3, q3, q0\n"
            "vadd.f32 q3, q3, r6\n"
            "vmul.f32 q3, q3, q0\n"
            "vadd.f32 q3, q3, r8\n"
            "vshl.i32 q2, q2, #23\n"
            "vadd.i32 q3, q3, q2\n"
            "vstrw.32 q3, [r0], #16\n"
            "letp lr, 1b\n"
        "2:\n"
        : [w] "+r"(w), [numbers] "+r"(numbers)
        : [n] "r"(n), [most] "r"(most), [least] "w"(least), [ones] "w"(ones)
        : "r1", "r2", "r3", "r4", "r5", "r6", "r8", "q0", "q2", "q3", "lr", "memory");
}
/* clang-format on */

#endif
