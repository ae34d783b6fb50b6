/* Matrix product of floats. Rows of a are the pixels of a line, those of b are weights: see pixel_rows_f32_rvv.h. Columns of
 * up to three rows advance together, as many as eight vector registers hold.
 * @for T=f32 @when b_column == 1
 * @count matrices: n[0] * n[1] * n[2] * n[3] * n[4] * n[5]
 * @count blocks: (columns + 63) // 64
 * @count tiles: matrices * ((rows + 2) // 3)
 * @count weight vectors: tiles * blocks * inner
 * @count result vectors: matrices * rows * blocks
 * @work calls 9.99, products by 64 outputs 0.17, result vectors 19.1, tiles 13.3, weight vectors 9.69 */
/* Matrix product of floats with few columns: four vector registers, of up to five rows.
 * @as rvv/matmul.columns32 fm8=fm4
 * @count blocks: (columns + 31) // 32
 * @count tiles: matrices * ((rows + 4) // 5)
 * @work calls 8.76, products by 32 outputs 0.225, tiles 62, weight vectors 3.14 */
#include "edgekit/contracts/matmul.h"
#include "edgekit/loops/matrices.h"

/* One matrix. */
EK_INLINE void EK_FN_matrix(
    const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const int32_t runs = EK_FM8_BY_CHANNELS ? 1 : p->inner, cells = EK_FM8_BY_CHANNELS ? p->inner : 1;
    const ek_fm8_window s = {1, runs, cells, 0, p->a_inner, p->a_inner, 1, 0, p->b_row, p->columns,
        EK_F32_KIND, -EK_INF_f32, EK_INF_f32};
    ek_fm8_line(a, (const uint8_t *)b, 0, 0, y, p->a_row, p->columns, p->rows, &s);
}

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_FN_matrix, a, b, y, p);
}
