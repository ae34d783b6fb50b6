/* Matrix product of floats with transposed b. Two rows and two columns advance together; a dot product has the lanes of four
 * vector registers, which are added up in the end.
 * @for T=f32 */
#include "edgekit/contracts/matmul_nt.h"
#include "edgekit/loops/matrices.h"

EK_INLINE float EK_FN_total(const ek_fm4_floats v, const size_t lanes)
{
    return __riscv_vfmv_f(__riscv_vfredusum(v, __riscv_vfmv_s_f_f32m1(0.0f, 1), lanes));
}

/* One or two rows times one or two columns; those that are not there are the first one once more. */
EK_INLINE void EK_FN_tile(const float *EK_RESTRICT a, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    const int32_t rows, const int32_t columns, const struct EK_STRUCT *p)
{
    const float *const a1 = rows > 1 ? a + p->a_row : a, *const b1 = columns > 1 ? b + p->b_row : b;
    const size_t lanes = __riscv_vsetvlmax_e32m4();
    ek_fm4_floats s00 = ek_fm4_set(0.0f, lanes), s01 = s00, s10 = s00, s11 = s00;
    for (int32_t k = 0, vl = 0; k < p->inner; k += vl) {
        vl = (int32_t)ek_fm4_count(p->inner - k);
        const ek_fm4_floats u0 = ek_fm4_load(a + k, (size_t)vl);
        const ek_fm4_floats u1 = ek_fm4_load(a1 + k, (size_t)vl);
        const ek_fm4_floats v0 = ek_fm4_load(b + k, (size_t)vl);
        const ek_fm4_floats v1 = ek_fm4_load(b1 + k, (size_t)vl);
        s00 = __riscv_vfmacc_tu(s00, u0, v0, (size_t)vl); /* lanes behind the last number keep their sums */
        s01 = __riscv_vfmacc_tu(s01, u0, v1, (size_t)vl);
        s10 = __riscv_vfmacc_tu(s10, u1, v0, (size_t)vl);
        s11 = __riscv_vfmacc_tu(s11, u1, v1, (size_t)vl);
    }
    y[0] = EK_FN_total(s00, lanes);
    if (columns > 1)
        y[1] = EK_FN_total(s01, lanes);
    if (rows > 1)
        y[p->columns] = EK_FN_total(s10, lanes);
    if (rows > 1 && columns > 1)
        y[p->columns + 1] = EK_FN_total(s11, lanes);
}

/* One matrix. */
EK_INLINE void EK_FN_matrix(
    const float *EK_RESTRICT a, const float *EK_RESTRICT b, float *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->rows; i += 2, a += 2 * p->a_row, y += 2 * p->columns)
        for (int32_t j = 0; j < p->columns; j += 2)
            EK_FN_tile(a, b + j * p->b_row, y + j, p->rows - i < 2 ? 1 : 2, p->columns - j < 2 ? 1 : 2, p);
}

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_FN_matrix, a, b, y, p);
}
