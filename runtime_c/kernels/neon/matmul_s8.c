/* int8 matrix product. Four rows and sixteen columns advance together, by products of 16 bits.
 * @rule e e_wide tfl @when a_inner == 1 and b_column == 1 */
/* int8 matrix product.
 * @as neon32/matmul_s8 */
#include "edgekit/contracts/matmul_s8.h"
#include "edgekit/loops/matrices.h"

/* What one row of b adds to the sums of row i of a, whose number is in a lane. */
#define EK_MATMUL_ROW(i, lane)                                                                               \
    s##i##0 = vmlal_lane_s16(s##i##0, vget_low_s16(low), a##i, lane);                                        \
    s##i##1 = vmlal_lane_s16(s##i##1, vget_high_s16(low), a##i, lane);                                       \
    if (blocks > 2) {                                                                                        \
        s##i##2 = vmlal_lane_s16(s##i##2, vget_low_s16(high), a##i, lane);                                   \
        s##i##3 = vmlal_lane_s16(s##i##3, vget_high_s16(high), a##i, lane);                                  \
    }

#define EK_MATMUL_CELL(k, lane)                                                                              \
    {                                                                                                        \
        const int8_t *from = b + (k) * p->b_row;                                                             \
        const int16x8_t low = ek_less_neon(from, width, p->b_zero);                                          \
        const int16x8_t high = blocks > 2 ? ek_less_neon(from + 8, width - 8, p->b_zero) : low;              \
        EK_MATMUL_ROW(0, lane)                                                                               \
        EK_MATMUL_ROW(1, lane)                                                                               \
        EK_MATMUL_ROW(2, lane)                                                                               \
        EK_MATMUL_ROW(3, lane)                                                                               \
    }

/* Four k at a time; of the last ones some may not be there. */
#define EK_MATMUL_FOUR(k, there)                                                                             \
    {                                                                                                        \
        EK_MATMUL_CELL(k, 0)                                                                                 \
        if (there > 1)                                                                                       \
            EK_MATMUL_CELL(k + 1, 1)                                                                         \
        if (there > 2)                                                                                       \
            EK_MATMUL_CELL(k + 2, 2)                                                                         \
        if (there > 3)                                                                                       \
            EK_MATMUL_CELL(k + 3, 3)                                                                         \
    }

#define EK_MATMUL_EIGHT(left)                                                                                \
    {                                                                                                        \
        const int16x8_t e0 = ek_less_neon(a + k, left, p->a_zero),                                           \
                        e1 = ek_less_neon(second + k, left, p->a_zero);                                      \
        const int16x8_t e2 = ek_less_neon(third + k, left, p->a_zero),                                       \
                        e3 = ek_less_neon(fourth + k, left, p->a_zero);                                      \
        int16x4_t a0 = vget_low_s16(e0), a1 = vget_low_s16(e1), a2 = vget_low_s16(e2),                       \
                  a3 = vget_low_s16(e3);                                                                     \
        EK_MATMUL_FOUR(k, left)                                                                              \
        if (left > 4) {                                                                                      \
            a0 = vget_high_s16(e0), a1 = vget_high_s16(e1), a2 = vget_high_s16(e2), a3 = vget_high_s16(e3);  \
            EK_MATMUL_FOUR(k + 4, left - 4)                                                                  \
        }                                                                                                    \
    }

/* Up to sixteen results of a row. */
EK_INLINE void EK_FN_store(const int32x4_t s0, const int32x4_t s1, const int32x4_t s2, const int32x4_t s3,
    int8_t *y, const int32_t width, const struct EK_STRUCT *p)
{
    const int32x4_t t0 = EK_RULE(same)(s0, p->multiplier, p->exponent);
    const int32x4_t t1 = EK_RULE(same)(s1, p->multiplier, p->exponent);
    const int32x4_t t2 = width > 8 ? EK_RULE(same)(s2, p->multiplier, p->exponent) : t0;
    const int32x4_t t3 = width > 8 ? EK_RULE(same)(s3, p->multiplier, p->exponent) : t1;
    ek_store_neon(y, ek_finish_neon(t0, t1, t2, t3, p->zero, p->lo, p->hi), width);
}

/* Up to four rows times sixteen columns, or eight: `width` of them. */
EK_INLINE void EK_FN_tile(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    const int32_t rows, const int32_t width, const int32_t blocks, const struct EK_STRUCT *p)
{
    /* Rows that are not there are the first one once more. */
    const int8_t *second = rows > 1 ? a + p->a_row : a, *third = rows > 2 ? a + 2 * p->a_row : a;
    const int8_t *fourth = rows > 3 ? a + 3 * p->a_row : a;
    const int32x4_t zero = vdupq_n_s32(0);
    int32x4_t s00 = zero, s01 = zero, s02 = zero, s03 = zero, s10 = zero, s11 = zero, s12 = zero, s13 = zero;
    int32x4_t s20 = zero, s21 = zero, s22 = zero, s23 = zero, s30 = zero, s31 = zero, s32 = zero, s33 = zero;
    int32_t k = 0;
    for (; k + 8 <= p->inner; k += 8)
        EK_MATMUL_EIGHT(8)
    if (k < p->inner)
        EK_MATMUL_EIGHT(p->inner - k)
    EK_FN_store(s00, s01, s02, s03, y, width, p);
    if (rows > 1)
        EK_FN_store(s10, s11, s12, s13, y + p->columns, width, p);
    if (rows > 2)
        EK_FN_store(s20, s21, s22, s23, y + 2 * p->columns, width, p);
    if (rows > 3)
        EK_FN_store(s30, s31, s32, s33, y + 3 * p->columns, width, p);
}

/* One matrix. */
EK_INLINE void EK_FN_matrix(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->rows; i += 4, a += 4 * p->a_row, y += 4 * p->columns) {
        const int32_t rows = p->rows - i < 4 ? p->rows - i : 4;
        int32_t j = 0;
        for (; j + 16 <= p->columns; j += 16)
            EK_FN_tile(a, b + j, y + j, rows, 16, 4, p);
        if (p->columns - j > 8)
            EK_FN_tile(a, b + j, y + j, rows, p->columns - j, 4, p);
        else if (p->columns - j == 8)
            EK_FN_tile(a, b + j, y + j, rows, 8, 2, p);
        else if (j < p->columns)
            EK_FN_tile(a, b + j, y + j, rows, p->columns - j, 2, p);
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_FN_matrix, a, b, y, p);
}
