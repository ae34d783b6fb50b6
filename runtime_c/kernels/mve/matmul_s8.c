/* int8 matrix product with Helium. Sixteen columns of a row advance together, see rows_mve.h; the zero point of b
 * comes off at the end.
 * @rule e tfl @when b_column == 1 and (exponent <= 0 or exponent > 32)
 * @work outputs, positions, products, products by 32 outputs, products by 64 outputs */
#include "edgekit/contracts/matmul_s8.h"
#include "edgekit/loops/matrices.h"

EK_INLINE void EK_FN_store(int32x4_t sum, int32_t total, int8_t *y, int32_t count, const struct EK_STRUCT *p)
{
    const int32x4_t centred = vsubq_n_s32(sum, p->b_zero * total);
    ek_mve_store_x4(y, EK_RULE(same_x4)(centred, p->multiplier, p->exponent), p->zero, p->lo, p->hi, count);
}

/* One matrix. */
static EK_SHARED void EK_FN_matrix(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->rows; i++, a += p->a_row, y += p->columns) {
        int32_t total = 0, j = 0;
        for (int32_t k = 0; k < p->inner; k++)
            total += a[k * p->a_inner] - p->a_zero;
        for (; j + 16 <= p->columns; j += 16) {
            const int8_t *cell = a, *row = b + j;
            struct ek_mve_sums sums;
            ek_mve_start_x16(&sums);
            for (int32_t k = p->inner; k > 0; k--, cell += p->a_inner, row += p->b_row)
                ek_mve_row_x16(&sums, row, *cell - p->a_zero);
            EK_FN_store(sums.s0, total, y + j, 4, p);
            EK_FN_store(sums.s1, total, y + j + 4, 4, p);
            EK_FN_store(sums.s2, total, y + j + 8, 4, p);
            EK_FN_store(sums.s3, total, y + j + 12, 4, p);
        }
        for (; j < p->columns; j += 4) {
            const int8_t *cell = a, *row = b + j;
            const mve_pred16_t lanes = vctp32q((uint32_t)(p->columns - j));
            int32x4_t sum = vdupq_n_s32(0);
            for (int32_t k = p->inner; k > 0; k--, cell += p->a_inner, row += p->b_row)
                sum = ek_mve_row_x4(sum, row, *cell - p->a_zero, lanes);
            EK_FN_store(sum, total, y + j, p->columns - j, p);
        }
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_FN_matrix, a, b, y, p);
}
