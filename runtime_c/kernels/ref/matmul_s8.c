/* int8 matrix product. Sixteen columns advance together.
 * @work outputs, products */
#include "edgekit/contracts/matmul_s8.h"
#include "edgekit/loops/matrices.h"

EK_INLINE void EK_FN_block(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    const int32_t width, const int32_t column, const struct EK_STRUCT *p)
{
    int32_t sum[16];
    for (int32_t j = 0; j < width; j++)
        sum[j] = 0;
    for (int32_t k = 0; k < p->inner; k++) {
        const int32_t left = a[k * p->a_inner] - p->a_zero;
        EK_SIDE_BY_SIDE
        for (int32_t j = 0; j < width; j++)
            sum[j] += left * (b[k * p->b_row + j * column] - p->b_zero);
    }
    for (int32_t j = 0; j < width; j++) {
        const int32_t acc = sum[j];
        y[j] = ek_clamp_s8(p->zero + EK_EXPR, p->lo, p->hi);
    }
}

/* One matrix. */
EK_INLINE void EK_FN_matrix(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    const struct EK_STRUCT *p)
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

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_FN_matrix, a, b, y, p);
}
