/* int8 matrix product with transposed b: see matmul_nt_s8.h. Differences from the zero points have 9 bits, so that
 * compilers multiply and add them in pairs of 16. */
#include "edgekit/matmul_nt_s8.h"

EK_INLINE int32_t EK_FN_dot(
    const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, const struct EK_STRUCT *p)
{
    const int16_t a_zero = (int16_t)p->a_zero, b_zero = (int16_t)p->b_zero;
    int32_t sum = 0;
    for (int32_t k = 0; k < p->inner; k++) {
        const int16_t left = (int16_t)(a[k] - a_zero), right = (int16_t)(b[k] - b_zero);
        sum += left * right;
    }
    return sum;
}

/* One matrix. */
EK_INLINE void EK_FN_matrix(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->rows; i++)
        for (int32_t j = 0; j < p->columns; j++) {
            const int32_t acc = EK_FN_dot(a + i * p->a_row, b + j * p->b_column, p);
            *y++ = ek_clamp_s8(p->zero + EK_EXPR, p->lo, p->hi);
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
