/* What kernels for RVV have in common, whatever they compute. */
#ifndef EDGEKIT_VECTORS_RVV_H
#define EDGEKIT_VECTORS_RVV_H

#include <riscv_vector.h>
#include <stddef.h>

#include "edgekit/loops/each_pixel.h"
#include "edgekit/types.h"

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
