/* Matrix product. Sixteen columns advance together, so that compilers vectorise over them and every result is still
 * summed in the order of k.
 * @work inputs, outputs, positions, products, products by 64 outputs */
#include "edgekit/contracts/matmul.h"
#include "edgekit/loops/matrices.h"

EK_INLINE void EK_FN_block(const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y,
    const int32_t width, const int32_t column, const struct EK_STRUCT *p)
{
    EK_T_ACC sum[16];
    for (int32_t j = 0; j < width; j++)
        sum[j] = 0;
    for (int32_t k = 0; k < p->inner; k++) {
        const EK_T_ACC left = EK_LOAD_T(a[k * p->a_inner]);
        EK_SIDE_BY_SIDE
        for (int32_t j = 0; j < width; j++) {
            const EK_T_ACC right = EK_LOAD_T(b[k * p->b_row + j * column]);
            sum[j] += left * right;
        }
    }
    for (int32_t j = 0; j < width; j++)
        y[j] = EK_STORE_T(sum[j]);
}

/* One matrix. */
EK_INLINE void EK_FN_matrix(
    const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->rows; i++, a += p->a_row, y += p->columns) {
        int32_t j = 0;
        if (p->b_column == 1)
            for (; j + 16 <= p->columns; j += 16)
                EK_FN_block(a, b + j, y + j, 16, 1, p);
        for (; j < p->columns; j += 16)
            EK_FN_block(
                a, b + j * p->b_column, y + j, j + 16 <= p->columns ? 16 : p->columns - j, p->b_column, p);
    }
}

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_FN_matrix, a, b, y, p);
}
