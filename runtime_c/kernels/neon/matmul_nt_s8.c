/* int8 matrix product with transposed b. Four rows and four columns advance together, by products of 16 bits.
 * @rule e e_wide tfl */
/* int8 matrix product with transposed b.
 * @as neon32/matmul_nt_s8 */
#include "edgekit/contracts/matmul_nt_s8.h"
#include "edgekit/loops/matrices.h"

/* What eight k of column j add to the sums of all rows. */
#define EK_NT_COLUMN(j, from, there)                                                                         \
    {                                                                                                        \
        const int16x8_t column = ek_less_neon(from + k, there, p->b_zero);                                   \
        s0##j = ek_dot16_neon(s0##j, a0, column);                                                            \
        s1##j = ek_dot16_neon(s1##j, a1, column);                                                            \
        s2##j = ek_dot16_neon(s2##j, a2, column);                                                            \
        s3##j = ek_dot16_neon(s3##j, a3, column);                                                            \
    }

#define EK_NT_EIGHT(left)                                                                                    \
    {                                                                                                        \
        const int16x8_t a0 = ek_less_neon(a + k, left, p->a_zero),                                           \
                        a1 = ek_less_neon(second + k, left, p->a_zero);                                      \
        const int16x8_t a2 = ek_less_neon(third + k, left, p->a_zero),                                       \
                        a3 = ek_less_neon(fourth + k, left, p->a_zero);                                      \
        EK_NT_COLUMN(0, b, left)                                                                             \
        EK_NT_COLUMN(1, next, left)                                                                          \
        EK_NT_COLUMN(2, other, left)                                                                         \
        EK_NT_COLUMN(3, last, left)                                                                          \
    }

EK_INLINE int32x4_t EK_FN_result(
    const int32x4_t s0, const int32x4_t s1, const int32x4_t s2, const int32x4_t s3, const struct EK_STRUCT *p)
{
    return EK_RULE(same)(ek_across_neon(s0, s1, s2, s3), p->multiplier, p->exponent);
}

/* Up to four rows times up to four columns; those that are not there are the first one once more. */
EK_INLINE void EK_FN_tile(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    const int32_t rows, const int32_t columns, const struct EK_STRUCT *p)
{
    const int8_t *second = rows > 1 ? a + p->a_row : a, *third = rows > 2 ? a + 2 * p->a_row : a;
    const int8_t *fourth = rows > 3 ? a + 3 * p->a_row : a;
    const int8_t *next = columns > 1 ? b + p->b_row : b, *other = columns > 2 ? b + 2 * p->b_row : b;
    const int8_t *last = columns > 3 ? b + 3 * p->b_row : b;
    const int32x4_t zero = vdupq_n_s32(0);
    int32x4_t s00 = zero, s01 = zero, s02 = zero, s03 = zero, s10 = zero, s11 = zero, s12 = zero, s13 = zero;
    int32x4_t s20 = zero, s21 = zero, s22 = zero, s23 = zero, s30 = zero, s31 = zero, s32 = zero, s33 = zero;
    int32_t k = 0;
    for (; k + 8 <= p->inner; k += 8)
        EK_NT_EIGHT(8)
    if (k < p->inner)
        EK_NT_EIGHT(p->inner - k)
    int8_t results[16];
    vst1q_s8(results,
        ek_finish_neon(EK_FN_result(s00, s01, s02, s03, p), EK_FN_result(s10, s11, s12, s13, p),
            EK_FN_result(s20, s21, s22, s23, p), EK_FN_result(s30, s31, s32, s33, p), p->zero, p->lo, p->hi));
    for (int32_t i = 0; i < rows; i++) {
        if (columns == 4)
            __builtin_memcpy(y + i * p->columns, results + 4 * i, 4);
        else
            for (int32_t j = 0; j < columns; j++)
                y[i * p->columns + j] = results[4 * i + j];
    }
}

/* One matrix. */
EK_INLINE void EK_FN_matrix(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->rows; i += 4, a += 4 * p->a_row, y += 4 * p->columns) {
        const int32_t rows = p->rows - i < 4 ? p->rows - i : 4;
        int32_t j = 0;
        for (; j + 4 <= p->columns; j += 4)
            EK_FN_tile(a, b + j * p->b_row, y + j, rows, 4, p);
        if (j < p->columns)
            EK_FN_tile(a, b + j * p->b_row, y + j, rows, p->columns - j, p);
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_FN_matrix, a, b, y, p);
}
