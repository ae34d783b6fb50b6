/* Vectors of floats for RVV, of eight registers: headers of others define the same names with another number. */
#ifndef EDGEKIT_F32M8_RVV_H
#define EDGEKIT_F32M8_RVV_H

#include "edgekit/loops/weight_kinds.h"
#include "edgekit/simd/riscv/halves_rvv.h"
#include "edgekit/simd/riscv/window_rvv.h"

/* The most pixels whose sums are registers, beside weights. */
#define EK_FM8_PIXELS 3
/* The inner loop is over channels, not over columns, and is not unrolled: compilers would load weights of later taps,
 * for which there are no registers. */
#define EK_FM8_BY_CHANNELS 1

typedef vfloat32m8_t ek_fm8_floats;
typedef struct ek_window_rvv ek_fm8_window;

/* How many of n outputs are computed at once. */
EK_INLINE size_t ek_fm8_count(const int32_t n)
{
    return __riscv_vsetvl_e32m8((size_t)n);
}

EK_INLINE ek_fm8_floats ek_fm8_set(const float x, const size_t vl)
{
    return __riscv_vfmv_v_f_f32m8(x, vl);
}

EK_INLINE ek_fm8_floats ek_fm8_load(const float *x, const size_t vl)
{
    return __riscv_vle32_v_f32m8(x, vl);
}

/* Weights of this kind. Instructions are all for elements of 32 bits: to change their width takes one more. */
EK_INLINE ek_fm8_floats ek_fm8_weights(const uint8_t *w, const int32_t kind, const size_t vl)
{
    const void *const from = w;
    if (kind == EK_S8_KIND) {
        const vint8m2_t bytes = __riscv_vle8_v_i8m2((const int8_t *)from, vl);
        return __riscv_vfcvt_f(__riscv_vsext_vf4(bytes, vl), vl);
    }
    if (kind == EK_BF16_KIND) {
        const vuint16m4_t words = __riscv_vle16_v_u16m4((const uint16_t *)from, vl);
        return __riscv_vreinterpret_f32m8(__riscv_vsll(__riscv_vzext_vf2(words, vl), 16, vl));
    }
    if (kind == EK_F16_KIND)
        return ek_halves_m8(__riscv_vzext_vf2(__riscv_vle16_v_u16m4((const uint16_t *)from, vl), vl), vl);
    return ek_fm8_load((const float *)from, vl);
}

#define EK_FLOATS ek_fm8_floats
#define EK_GROUP(name) ek_fm8_##name
#define EK_GROUP_PIXELS EK_FM8_PIXELS
#define EK_GROUP_FOR(...) EK_ROLLED_FOR(__VA_ARGS__)
#include "edgekit/simd/riscv/pixel_rows_f32_rvv.h"

#endif
