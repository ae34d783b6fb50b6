/* Sums of products for RVV, of as many outputs as two, four or eight vector registers hold: ek_m2_..., ek_m4_... and
 * ek_m8_... have the same meaning. The more registers, the fewer pixels fit, and the more outputs each input is read for. */
#ifndef EDGEKIT_GEMM_RVV_H
#define EDGEKIT_GEMM_RVV_H

#include "edgekit/simd/riscv/rules_rvv.h"

/* The most pixels, or rows of a matrix, whose sums are registers; fewer where code is to be small. */
#define EK_M2_PIXELS (EK_IS_COMPACT ? 4 : 12)
#define EK_M4_PIXELS (EK_IS_COMPACT ? 4 : 6)
#define EK_M8_PIXELS (EK_IS_COMPACT ? 1 : 3)

typedef vint32m2_t ek_m2_sums;
typedef vint16m1_t ek_m2_weights;
typedef vint32m4_t ek_m4_sums;
typedef vint16m2_t ek_m4_weights;
typedef vint32m8_t ek_m8_sums;
typedef vint16m4_t ek_m8_weights;

/* How many of n outputs are computed at once. */
EK_INLINE size_t ek_m2_count(const int32_t n)
{
    return __riscv_vsetvl_e32m2((size_t)n);
}
EK_INLINE size_t ek_m4_count(const int32_t n)
{
    return __riscv_vsetvl_e32m4((size_t)n);
}
EK_INLINE size_t ek_m8_count(const int32_t n)
{
    return __riscv_vsetvl_e32m8((size_t)n);
}

EK_INLINE ek_m2_sums ek_m2_load(const int32_t *b, const size_t vl)
{
    return __riscv_vle32_v_i32m2(b, vl);
}
EK_INLINE ek_m4_sums ek_m4_load(const int32_t *b, const size_t vl)
{
    return __riscv_vle32_v_i32m4(b, vl);
}
EK_INLINE ek_m8_sums ek_m8_load(const int32_t *b, const size_t vl)
{
    return __riscv_vle32_v_i32m8(b, vl);
}

/* Weights of int8 as numbers of 16 bits, which products want. */
EK_INLINE ek_m2_weights ek_m2_widen(const int8_t *w, const size_t vl)
{
    return __riscv_vsext_vf2_i16m1(__riscv_vle8_v_i8mf2(w, vl), vl);
}
EK_INLINE ek_m4_weights ek_m4_widen(const int8_t *w, const size_t vl)
{
    return __riscv_vsext_vf2_i16m2(__riscv_vle8_v_i8m1(w, vl), vl);
}
EK_INLINE ek_m8_weights ek_m8_widen(const int8_t *w, const size_t vl)
{
    return __riscv_vsext_vf2_i16m4(__riscv_vle8_v_i8m2(w, vl), vl);
}

/* sums + x w */
EK_INLINE ek_m2_sums ek_m2_add(const ek_m2_sums sums, const int8_t x, const ek_m2_weights w, const size_t vl)
{
    return __riscv_vwmacc_vx_i32m2(sums, x, w, vl);
}
EK_INLINE ek_m4_sums ek_m4_add(const ek_m4_sums sums, const int8_t x, const ek_m4_weights w, const size_t vl)
{
    return __riscv_vwmacc_vx_i32m4(sums, x, w, vl);
}
EK_INLINE ek_m8_sums ek_m8_add(const ek_m8_sums sums, const int8_t x, const ek_m8_weights w, const size_t vl)
{
    return __riscv_vwmacc_vx_i32m8(sums, x, w, vl);
}

#endif
