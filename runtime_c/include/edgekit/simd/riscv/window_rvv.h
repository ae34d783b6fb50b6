/* Windows of float kernels for RVV. */
#ifndef EDGEKIT_WINDOW_RVV_H
#define EDGEKIT_WINDOW_RVV_H

#include "edgekit/simd/riscv/vectors_rvv.h"

/* How many outputs are side by side in a block of packed weights. */
#define EK_BLOCK_RVV 64

/* A window: `rows` times `runs` times `cells` elements of x. */
struct ek_window_rvv {
    int32_t rows;
    int32_t runs;
    int32_t cells;
    int32_t row_step; /* elements of x */
    int32_t run_step;
    int32_t cell_step;
    int32_t taps; /* weights of an output in a block, */
    int32_t first_tap; /* of which those before this one are for rows outside of the image */
    int32_t tap_weights; /* elements of w from one tap to the next; 0: blocks of packed weights */
    int32_t outputs;
    int32_t kind;
    float lo;
    float hi;
};

/* The n weights that a kernel computes with: floats as they are, others as floats, in what room there is. */
EK_INLINE const uint8_t *ek_f32_once_rvv(const void *w, const int32_t n, float **room)
{
    (void)n;
    (void)room;
    return (const uint8_t *)w;
}
EK_INLINE const uint8_t *ek_bf16_once_rvv(const uint16_t *w, const int32_t n, float **room)
{
    const uint8_t *const floats = (const uint8_t *)*room;
    for (int32_t i = 0, vl = 0; i < n; i += vl) {
        vl = (int32_t)__riscv_vsetvl_e32m8((size_t)(n - i));
        const vuint32m8_t words = __riscv_vzext_vf2(__riscv_vle16_v_u16m4(w + i, (size_t)vl), (size_t)vl);
        const vuint32m8_t bits = __riscv_vsll(words, 16, (size_t)vl);
        __riscv_vse32(*room + i, __riscv_vreinterpret_f32m8(bits), (size_t)vl);
    }
    *room += n;
    return floats;
}
EK_INLINE const uint8_t *ek_s8_once_rvv(const int8_t *w, const int32_t n, float **room)
{
    const uint8_t *const floats = (const uint8_t *)*room;
    for (int32_t i = 0, vl = 0; i < n; i += vl) {
        vl = (int32_t)__riscv_vsetvl_e32m8((size_t)(n - i));
        const vint32m8_t words = __riscv_vsext_vf4(__riscv_vle8_v_i8m2(w + i, (size_t)vl), (size_t)vl);
        __riscv_vse32(*room + i, __riscv_vfcvt_f(words, (size_t)vl), (size_t)vl);
    }
    *room += n;
    return floats;
}

#endif
