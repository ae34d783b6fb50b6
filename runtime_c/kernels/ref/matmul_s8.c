/* int8 matrix product: see matmul_s8.h. Sixteen columns advance together. */
#include "edgekit/matmul_s8.h"

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
            sum[j] += left * (b[k * p->b_inner + j * column] - p->b_zero);
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
    for (int32_t i0 = 0; i0 < p->n[0]; i0++)
        for (int32_t i1 = 0; i1 < p->n[1]; i1++)
            for (int32_t i2 = 0; i2 < p->n[2]; i2++)
                for (int32_t i3 = 0; i3 < p->n[3]; i3++)
                    for (int32_t i4 = 0; i4 < p->n[4]; i4++)
                        for (int32_t i5 = 0; i5 < p->n[5]; i5++)
                            EK_FN_matrix(a + p->a0 + i0 * p->a_n[0] + i1 * p->a_n[1] + i2 * p->a_n[2]
                                             + i3 * p->a_n[3] + i4 * p->a_n[4] + i5 * p->a_n[5],
                                b + p->b0 + i0 * p->b_n[0] + i1 * p->b_n[1] + i2 * p->b_n[2] + i3 * p->b_n[3]
                                    + i4 * p->b_n[4] + i5 * p->b_n[5],
                                y + p->y0 + i0 * p->y_n[0] + i1 * p->y_n[1] + i2 * p->y_n[2] + i3 * p->y_n[3]
                                    + i4 * p->y_n[4] + i5 * p->y_n[5],
                                p);
}
