/* Halves as floats for RVV without instructions for them: in integers. */
#ifndef EDGEKIT_HALVES_RVV_H
#define EDGEKIT_HALVES_RVV_H

#include <riscv_vector.h>

#include "edgekit/types.h"

/* Of vectors of so many registers, whose masks have this type. */
#define EK_HALVES_RVV(registers, mask)                                                                       \
    EK_INLINE vfloat32##registers##_t ek_halves_##registers(vuint32##registers##_t h, size_t vl)             \
    {                                                                                                        \
        const vuint32##registers##_t magnitude = __riscv_vsll(__riscv_vand(h, 0x7FFF, vl), 13, vl);          \
        const vuint32##registers##_t sign = __riscv_vsll(__riscv_vand(h, 0x8000, vl), 16, vl);               \
        const mask is_top = __riscv_vmsgeu(magnitude, 0x0F800000u, vl);                                      \
        const mask is_subnormal = __riscv_vmsltu(magnitude, 0x00800000u, vl);                                \
        const vuint32##registers##_t once = __riscv_vadd(magnitude, 112u << 23, vl);                         \
        const vuint32##registers##_t normal =                                                                \
            __riscv_vmerge(once, __riscv_vadd(once, 112u << 23, vl), is_top, vl);                            \
        const vfloat32##registers##_t behind =                                                               \
            __riscv_vreinterpret_f32##registers(__riscv_vadd(magnitude, 113u << 23, vl));                    \
        const vuint32##registers##_t fraction =                                                              \
            __riscv_vreinterpret_u32##registers(__riscv_vfsub(behind, 6.10351562e-05f, vl));                 \
        const vuint32##registers##_t size = __riscv_vmerge(normal, fraction, is_subnormal, vl);              \
        return __riscv_vreinterpret_f32##registers(__riscv_vor(size, sign, vl));                             \
    }

EK_HALVES_RVV(m2, vbool16_t)
EK_HALVES_RVV(m4, vbool8_t)
EK_HALVES_RVV(m8, vbool4_t)

#endif
