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

/* Replaces n scores by exp(score - most), which is that of -87 at least, and returns the sums of every fourth. The exponent
 * is n ln 2 + r: a polynomial in r, and n is added to its exponent. General registers are few where one is a frame pointer.
 *
 * r1 to r9 -ln 2 in two parts, and the coefficients; q0 r, q2 n, q3 the polynomial */
static inline float32x4_t ek_mve_exponentials(float *w0, int32_t n, const float most)
{
    static const float terms[] = {-0.693359375f, 2.12194440e-4f, 8.29031412e-3f, 4.18979302e-2f,
        1.66676357e-1f, 4.99991506e-1f, 9.99999762e-1f, 1.0f};
    const float32x4_t least = vdupq_n_f32(-87.0f), log2e = vdupq_n_f32(1.44269504f);
    const float32x4_t ones = vdupq_n_f32(12582912.0f); /* which rounds to ones */
    float32x4_t sums = vdupq_n_f32(0);
    register float *w __asm("r0") = w0;
    register const float *numbers __asm("r9") = terms;
    __asm volatile(
        "ldm r9, {r1-r6, r8, r9}\n"
        "wlstp.32 lr, %[n], 2f\n"
        "1:\n"
            "vldrw.u32 q0, [r0]\n"
            "vsub.f32 q0, q0, %[most]\n"
            "vpt.f32 ge, %q[least], q0\n"
            "vmovt q0, %q[least]\n"
            "vmul.f32 q2, q0, %q[log2e]\n"
            "vadd.f32 q2, q2, %q[ones]\n"
            "vsub.f32 q3, q2, %q[ones]\n"
            "vfma.f32 q0, q3, r1\n"
            "vfma.f32 q0, q3, r2\n"
            "vdup.32 q3, r3\n"
            "vfmas.f32 q3, q0, r4\n"
            "vfmas.f32 q3, q0, r5\n"
            "vfmas.f32 q3, q0, r6\n"
            "vfmas.f32 q3, q0, r8\n"
            "vfmas.f32 q3, q0, r9\n"
            "vshl.i32 q2, q2, #23\n"
            "vadd.i32 q3, q3, q2\n"
            "vstrw.32 q3, [r0], #16\n"
            "vadd.f32 %q[sums], %q[sums], q3\n"
            "letp lr, 1b\n"
        "2:\n"
        : [w] "+r"(w), [numbers] "+r"(numbers), [sums] "+w"(sums)
        : [n] "r"(n), [most] "r"(most), [least] "w"(least), [log2e] "w"(log2e), [ones] "w"(ones)
        : "r1", "r2", "r3", "r4", "r5", "r6", "r8", "q0", "q2", "q3", "lr", "memory");
    return sums;
}
/* clang-format on */

#endif
