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
 * is n ln 2 + r: a polynomial in r, and n is added to its exponent.
 *
 * r1 to r11 log2(e), what rounds, -ln 2 in two parts, and the coefficients; q0 r, q1 -87, q2 n, q3 the polynomial, q4 the
 * sums */
static inline float32x4_t ek_mve_exponentials(float *w0, int32_t n, const float most)
{
    static const float terms[] = {1.44269504f, 12582912.0f, -0.693359375f, 2.12194440e-4f, 8.29031412e-3f,
        4.18979302e-2f, 1.66676357e-1f, 4.99991506e-1f, 9.99999762e-1f, 1.0f};
    register float *w __asm("r0") = w0;
    register const float *numbers __asm("r11") = terms;
    register float32x4_t sums __asm("q4") = vdupq_n_f32(0);
    const float32x4_t least = vdupq_n_f32(-87.0f);
    __asm volatile(
        "vmov q1, %q[least]\n"
        "ldm r11, {r1-r6, r8-r11}\n"
        "wlstp.32 lr, %[n], 2f\n"
        "1:\n"
            "vldrw.u32 q0, [r0]\n"
            "vsub.f32 q0, q0, %[most]\n"
            "vpt.f32 ge, q1, q0\n"
            "vmovt q0, q1\n"
            "vmul.f32 q2, q0, r1\n"
            "vadd.f32 q2, q2, r2\n"
            "vsub.f32 q3, q2, r2\n"
            "vfma.f32 q0, q3, r3\n"
            "vfma.f32 q0, q3, r4\n"
            "vdup.32 q3, r5\n"
            "vfmas.f32 q3, q0, r6\n"
            "vfmas.f32 q3, q0, r8\n"
            "vfmas.f32 q3, q0, r9\n"
            "vfmas.f32 q3, q0, r10\n"
            "vfmas.f32 q3, q0, r11\n"
            "vshl.i32 q2, q2, #23\n"
            "vadd.i32 q3, q3, q2\n"
            "vstrw.32 q3, [r0], #16\n"
            "vadd.f32 %q[sums], %q[sums], q3\n"
            "letp lr, 1b\n"
        "2:\n"
        : [w] "+r"(w), [numbers] "+r"(numbers), [sums] "+w"(sums)
        : [n] "r"(n), [most] "r"(most), [least] "w"(least)
        : "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "q0", "q1", "q2", "q3", "lr", "memory");
    return sums;
}
/* clang-format on */

#endif
