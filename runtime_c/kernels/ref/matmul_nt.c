/* Matrix product with transposed b: see matmul_nt.h. A dot product advances in sixteen lanes, which compilers
 * vectorise, and which are added up in the end. */
#include "edgekit/matmul_nt.h"

EK_INLINE EK_T_ACC EK_FN_dot(const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, const int32_t n)
{
    EK_T_ACC lane[16] = {0};
    int32_t k = 0;
    for (; k + 16 <= n; k += 16) {
        EK_SIDE_BY_SIDE
        for (int32_t l = 0; l < 16; l++) {
            const EK_T_ACC left = EK_LOAD_T(a[k + l]), right = EK_LOAD_T(b[k + l]);
            lane[l] += left * right;
        }
    }
    for (int32_t l = 0; k + l < n; l++) {
        const EK_T_ACC left = EK_LOAD_T(a[k + l]), right = EK_LOAD_T(b[k + l]);
        lane[l] += left * right;
    }
    EK_T_ACC sum = lane[0];
    for (int32_t l = 1; l < 16; l++)
        sum += lane[l];
    return sum;
}

/* One matrix. */
EK_INLINE void EK_FN_matrix(
    const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->rows; i++)
        for (int32_t j = 0; j < p->columns; j++)
            *y++ = EK_STORE_T(EK_FN_dot(a + i * p->a_row, b + j * p->b_column, p->inner));
}

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
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
