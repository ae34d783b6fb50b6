/* Matrix product with transposed b. A dot product advances in sixteen lanes, which compilers vectorise, and which are
 * added up in the end.
 * @work calls, outputs, products */
#include "edgekit/contracts/matmul_nt.h"
#include "edgekit/loops/matrices.h"

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
            *y++ = EK_STORE_T(EK_FN_dot(a + i * p->a_row, b + j * p->b_row, p->inner));
}

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_FN_matrix, a, b, y, p);
}
