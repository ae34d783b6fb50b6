/* What kernels for RVV have in common, whatever they compute. */
#ifndef EDGEKIT_VECTORS_RVV_H
#define EDGEKIT_VECTORS_RVV_H

#include <riscv_vector.h>
#include <stddef.h>

#include "edgekit/types.h"

/* text(k, s) of the sums of each pixel. */
#define EK_EACH_PIXEL(text)                                                                                  \
    text(0, s0) text(1, s1) text(2, s2) text(3, s3) text(4, s4) text(5, s5) text(6, s6) text(7, s7)          \
        text(8, s8) text(9, s9) text(10, s10) text(11, s11)

/* n bytes, copied or all the same. */
EK_INLINE void ek_copy_rvv(int8_t *y, const int8_t *x, int32_t n)
{
    while (n > 0) {
        const size_t vl = __riscv_vsetvl_e8m8((size_t)n);
        __riscv_vse8_v_i8m8(y, __riscv_vle8_v_i8m8(x, vl), vl);
        x += vl;
        y += vl;
        n -= (int32_t)vl;
    }
}
EK_INLINE void ek_fill_rvv(int8_t *y, const int32_t value, int32_t n)
{
    while (n > 0) {
        const size_t vl = __riscv_vsetvl_e8m8((size_t)n);
        __riscv_vse8_v_i8m8(y, __riscv_vmv_v_x_i8m8((int8_t)value, vl), vl);
        y += vl;
        n -= (int32_t)vl;
    }
}

/* n floats, copied or 0. */
EK_INLINE void ek_copy_floats_rvv(float *y, const float *x, const int32_t n)
{
    ek_copy_rvv((int8_t *)(void *)y, (const int8_t *)(const void *)x, 4 * n);
}
EK_INLINE void ek_zero_rvv(float *y, const int32_t n)
{
    ek_fill_rvv((int8_t *)(void *)y, 0, 4 * n);
}

#endif
