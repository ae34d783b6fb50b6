/* Rows of floats to int8 with Helium. */
#ifndef EDGEKIT_QUANTIZE_ROWS_MVE_H
#define EDGEKIT_QUANTIZE_ROWS_MVE_H

#include <arm_mve.h>

#include "edgekit/types.h"

/* clang-format off */
/* Twice the largest magnitude of n numbers, as an integer. q0 four of them, q1 the largest, lr how many are left. */
static inline uint32_t ek_mve_largest_magnitude(const float *x, int32_t n)
{
    uint32_t most = 0;
    __asm volatile(
        "vmov.i32 q1, #0\n"
        "wlstp.32 lr, %[n], 2f\n"
        "1:\n"
            "vldrw.u32 q0, [%[x]], #16\n"
            "vshl.i32 q0, q0, #1\n"
            "vmax.u32 q1, q1, q0\n"
            "letp lr, 1b\n"
        "2:\n"
        "vmaxv.u32 %[most], q1\n"
        : [x] "+r"(x), [most] "+r"(most)
        : [n] "r"(n)
        : "q0", "q1", "lr", "memory");
    return most;
}

/* y = x factor, rounded: the low byte of a float that counts in ones, and has room for a sign. A number that is subnormal
 * becomes 0, as it does when it is rounded. */
static inline void ek_mve_rounded_row(const float *x, int8_t *y, int32_t n, const float factor)
{
    const float32x4_t factors = vdupq_n_f32(factor), shift = vdupq_n_f32(12582912.0f);
    __asm volatile(
        "wlstp.32 lr, %[n], 2f\n"
        "1:\n"
            "vldrw.u32 q0, [%[x]], #16\n"
            "vmul.f32 q0, q0, %q[factors]\n"
            "vadd.f32 q0, q0, %q[shift]\n"
            "vstrb.32 q0, [%[y]], #4\n"
            "letp lr, 1b\n"
        "2:\n"
        : [x] "+r"(x), [y] "+l"(y)
        : [n] "r"(n), [factors] "w"(factors), [shift] "w"(shift)
        : "q0", "lr", "memory");
}
/* clang-format on */

#endif
