/* Rows that were quantized in this run, by RVV: as many outputs at a time as eight registers hold sums of. Weights of 4 bits
 * are 8 more, two of an output in a byte. */
#ifndef EDGEKIT_DYNAMIC_ROWS_RVV_H
#define EDGEKIT_DYNAMIC_ROWS_RVV_H

#include "edgekit/simd/riscv/f32m8_rvv.h"

#define EK_DR_OUTPUTS 64 /* of a block of weights; the last one may be narrower */

/* sum + the products of a row and weights, of which those of an input are `step` bytes apart. */
EK_INLINED vint32m8_t ek_dr_bytes(vint32m8_t sum, const int8_t *x, const int8_t *w, const int32_t count,
    const int32_t step, const size_t vl)
{
    int32_t i = 0;
    for (; i + 2 <= count; i += 2, w += 2 * step) {
        const vint16m4_t first = __riscv_vwmul(__riscv_vle8_v_i8m2(w, vl), x[i], vl);
        const vint16m4_t second = __riscv_vwmul(__riscv_vle8_v_i8m2(w + step, vl), x[i + 1], vl);
        sum = __riscv_vwadd_wv(__riscv_vwadd_wv(sum, first, vl), second, vl);
    }
    if (i < count)
        sum = __riscv_vwadd_wv(sum, __riscv_vwmul(__riscv_vle8_v_i8m2(w, vl), x[i], vl), vl);
    return sum;
}

/* The same of weights of 4 bits: two products fit into 16 bits. What weights have more is taken off at the end. */
EK_INLINED vint32m8_t ek_dr_nibbles(vint32m8_t sum, const int8_t *x, const uint8_t *w, const int32_t count,
    const int32_t step, const size_t vl)
{
    int32_t total = 0;
    for (int32_t i = 0; i < count; i += 2, w += step) {
        const vuint8m2_t both = __riscv_vle8_v_u8m2(w, vl);
        const vint8m2_t low = __riscv_vreinterpret_i8m2(__riscv_vand(both, 15, vl));
        const vint8m2_t high = __riscv_vreinterpret_i8m2(__riscv_vsrl(both, 4, vl));
        sum = __riscv_vwadd_wv(sum, __riscv_vwmacc(__riscv_vwmul(low, x[i], vl), x[i + 1], high, vl), vl);
        total += x[i] + x[i + 1];
    }
    return __riscv_vsub(sum, 8 * total, vl);
}

/* sum + the products of a row and `count` inputs, of weights of this kind. */
EK_INLINED vint32m8_t ek_dr_products(vint32m8_t sum, const int8_t *x, const uint8_t *w, const int32_t count,
    const int32_t step, const int32_t kind, const size_t vl)
{
    return kind == EK_S4_KIND ? ek_dr_nibbles(sum, x, w, count, step, vl)
                              : ek_dr_bytes(sum, x, (const int8_t *)w, count, step, vl);
}

#endif
