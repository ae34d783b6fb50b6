/* Matrix product of floats with transposed b. Four rows and several columns advance together; a dot
 * product has the lanes of a vector, which are added up in the end.
 * @for T=f32 @count matrices: n[0] * n[1] * n[2] * n[3] * n[4] * n[5]
 * @count pairs: matrices * ((columns + 1) // 2)
 * @count tiles: pairs * ((rows + 3) // 4)
 * @count steps: tiles * ((inner + 7) // 8)
 * @count row pairs: pairs * rows
 * @count row steps: pairs * rows * ((inner + 7) // 8)
 * @count row tails: pairs * rows * (inner % 8 > 0)
 * @work row pairs 0.86, row steps 4.39, row tails 5.6, steps 4.91 */
/* Matrix product of floats with transposed b.
 * @as neon/matmul_nt, neon32/matmul_nt, riscvf/matmul_nt @work products 1
 * @as avx512/matmul_nt @count pairs: matrices * ((columns + 3) // 4)
 * @count steps: tiles * ((inner + 15) // 16)
 * @count row steps: pairs * rows * ((inner + 15) // 16)
 * @count row tails: pairs * rows * (inner % 16 > 0) @work row pairs 44.6, row steps 1.32, steps 12.7 */
#include "edgekit/contracts/matmul_nt.h"
#include "edgekit/loops/matrices.h"

/* `count` k of four rows and of several columns. */
EK_INLINED void EK_FN_add(ek_vf sum[4][EK_VF_COLUMNS], const float *const *a, const float *const *b,
    const int32_t k, const int32_t count)
{
    ek_vf row[4];
    EK_UNROLLED_FOR(4, int32_t i = 0; i < 4; i++)
        row[i] = ek_vf_load(a[i] + k, count);
    EK_UNROLLED_FOR(4, int32_t j = 0; j < EK_VF_COLUMNS; j++) {
        const ek_vf column = ek_vf_load(b[j] + k, count);
        EK_UNROLLED_FOR(4, int32_t i = 0; i < 4; i++)
            sum[i][j] = ek_vf_fma(row[i], column, sum[i][j]);
    }
}

/* Up to four rows times some columns; those that are not there are the first one once more. */
EK_INLINE void EK_FN_tile(const float *EK_RESTRICT a, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    const int32_t rows, const int32_t columns, const struct EK_STRUCT *p)
{
    const float *row[4], *column[EK_VF_COLUMNS];
    ek_vf sum[4][EK_VF_COLUMNS];
    int32_t k = 0;
    EK_UNROLLED_FOR(4, int32_t i = 0; i < 4; i++) {
        row[i] = i < rows ? a + i * p->a_row : a;
        EK_UNROLLED_FOR(4, int32_t j = 0; j < EK_VF_COLUMNS; j++)
            sum[i][j] = ek_vf_set(0);
    }
    EK_UNROLLED_FOR(4, int32_t j = 0; j < EK_VF_COLUMNS; j++)
        column[j] = j < columns ? b + j * p->b_row : b;
    for (; k + EK_VF_LANES <= p->inner; k += EK_VF_LANES)
        EK_FN_add(sum, row, column, k, EK_VF_LANES);
    if (k < p->inner)
        EK_FN_add(sum, row, column, k, p->inner - k);
    EK_UNROLLED_FOR(4, int32_t i = 0; i < 4; i++)
        if (i < rows)
            ek_vf_store_totals(y + i * p->columns, columns, sum[i]);
}

/* One matrix. */
EK_INLINE void EK_FN_matrix(
    const float *EK_RESTRICT a, const float *EK_RESTRICT b, float *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->rows; i += 4, a += 4 * p->a_row, y += 4 * p->columns) {
        const int32_t rows = p->rows - i < 4 ? p->rows - i : 4;
        int32_t j = 0;
        for (; j + EK_VF_COLUMNS <= p->columns; j += EK_VF_COLUMNS)
            EK_FN_tile(a, b + j * p->b_row, y + j, rows, EK_VF_COLUMNS, p);
        if (j < p->columns)
            EK_FN_tile(a, b + j * p->b_row, y + j, rows, p->columns - j, p);
    }
}

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_FN_matrix, a, b, y, p);
}
