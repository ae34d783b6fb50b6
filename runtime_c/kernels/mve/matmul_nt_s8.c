/* int8 matrix product with transposed b, with Helium. Four columns of a row advance together, sixteen products each;
 * the sums of columns, which zero points need, are kept for all rows.
 * @rule e tfl @when exponent <= 0 or exponent > 32 @scratch 4 * ((columns + 3) // 4 * 4)
 * @work outputs, positions, products */
#include "edgekit/contracts/matmul_nt_s8.h"

/* Four rows of b times a row of a; those that are not there are the first one once more. */
EK_INLINE int32x4_t EK_FN_four(const int8_t *a, const int8_t *b, int32_t count, const struct EK_STRUCT *p)
{
    const int8_t *next = count > 1 ? b + p->b_row : b, *other = count > 2 ? b + 2 * p->b_row : b;
    const int8_t *last = count > 3 ? b + 3 * p->b_row : b;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int32_t k = 0; k < p->inner; k += 16) {
        const mve_pred16_t lanes = vctp8q((uint32_t)(p->inner - k));
        const int8x16_t cells = vldrbq_z_s8(a + k, lanes);
        s0 = vmladavaq_s8(s0, cells, vldrbq_z_s8(b + k, lanes));
        s1 = vmladavaq_s8(s1, cells, vldrbq_z_s8(next + k, lanes));
        s2 = vmladavaq_s8(s2, cells, vldrbq_z_s8(other + k, lanes));
        s3 = vmladavaq_s8(s3, cells, vldrbq_z_s8(last + k, lanes));
    }
    return vsetq_lane_s32(s3, vsetq_lane_s32(s2, vsetq_lane_s32(s1, vdupq_n_s32(s0), 1), 2), 3);
}

EK_INLINE int32_t EK_FN_total(const int8_t *row, int32_t count)
{
    int32_t total = 0;
    for (; count > 0; count -= 16, row += 16)
        total = vaddvaq_s8(total, vldrbq_z_s8(row, vctp8q((uint32_t)count)));
    return total;
}

/* One matrix. */
static EK_SHARED void EK_FN_matrix(
    const int8_t *a, const int8_t *b, int8_t *y, int32_t *sums, const struct EK_STRUCT *p)
{
    for (int32_t j = 0; j < p->columns; j++)
        sums[j] = p->a_zero * (EK_FN_total(b + j * p->b_row, p->inner) - p->inner * p->b_zero);
    for (int32_t i = 0; i < p->rows; i++, a += p->a_row, y += p->columns) {
        const int32_t total = p->b_zero * EK_FN_total(a, p->inner);
        for (int32_t j = 0; j < p->columns; j += 4) {
            const int32_t count = p->columns - j;
            const int32x4_t products = EK_FN_four(a, b + j * p->b_row, count, p);
            const int32x4_t sum = vsubq_n_s32(vsubq_s32(products, vldrwq_s32(sums + j)), total);
            ek_mve_store_x4(
                y + j, EK_RULE(same_x4)(sum, p->multiplier, p->exponent), p->zero, p->lo, p->hi, count);
        }
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    int32_t *const sums = (int32_t *)(void *)scratch;
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
                                sums, p);
}
