/* int8 matrix product with transposed b. Differences from the zero points have 9 bits, so that compilers multiply and
 * add them in pairs of 16.
 * @work calls, outputs, products */
#include "edgekit/contracts/matmul_nt_s8.h"
#include "edgekit/loops/matrices.h"

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
            const int32_t acc = EK_FN_dot(a + i * p->a_row, b + j * p->b_row, p);
            *y++ = ek_clamp_s8(p->zero + EK_EXPR, p->lo, p->hi);
        }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_FN_matrix, a, b, y, p);
}
