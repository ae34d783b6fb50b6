/* Matrix product of floats. Rows of a are the pixels of a line, those of b are weights: pixel_rows_f32.h.
 * @for T=f32 @when b_column == 1 @split rows >= 8 */
/* Matrix product of floats with AVX-512.
 * @as avx512/matmul */
/* Matrix product of floats with NEON.
 * @as neon/matmul, neon32/matmul */
/* Matrix product of floats one at a time, for RISC-V without vectors.
 * @as riscvf/matmul */
#include "edgekit/contracts/matmul.h"
#include "edgekit/loops/matrices.h"

/* One matrix. */
EK_INLINE void EK_FN_matrix(
    const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const struct ek_window_f32 s = {1, 1, p->inner, 0, 0, p->a_inner, 0, p->b_row, EK_VF_LANES, 0, p->columns,
        EK_ROWS_KIND, -EK_INF_f32, EK_INF_f32};
    ek_parts_f32(a, b, 0, 0, y, p->a_row, p->columns, p->rows, 1, 0, p->columns, &s);
}

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_FN_matrix, a, b, y, p);
}
