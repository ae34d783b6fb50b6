/* Matrix product of floats with transposed b. Four rows and four columns advance together; a dot product has four
 * lanes, which are added up in the end.
 * @for T=f32 */
#include "edgekit/contracts/matmul_nt.h"
#include "edgekit/loops/matrices.h"

#define EK_NT_ONE(x) ek_vf_load(x, 1)

/* What four k of column j add to the sums of all rows. */
#define EK_NT_ADD(j, load)                                                                                   \
    {                                                                                                        \
        const float32x4_t column = load;                                                                     \
        s0##j = vfmaq_f32(s0##j, a0, column);                                                                \
        s1##j = vfmaq_f32(s1##j, a1, column);                                                                \
        s2##j = vfmaq_f32(s2##j, a2, column);                                                                \
        s3##j = vfmaq_f32(s3##j, a3, column);                                                                \
    }

#define EK_NT_FOUR(load)                                                                                     \
    {                                                                                                        \
        const float32x4_t a0 = load(a + k), a1 = load(second + k), a2 = load(third + k),                     \
                          a3 = load(fourth + k);                                                             \
        EK_NT_ADD(0, load(b + k))                                                                            \
        EK_NT_ADD(1, load(next + k))                                                                         \
        EK_NT_ADD(2, load(other + k))                                                                        \
        EK_NT_ADD(3, load(last + k))                                                                         \
    }

/* Up to four rows times up to four columns; those that are not there are the first one once more. */
EK_INLINE void EK_FN_tile(const float *EK_RESTRICT a, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    const int32_t rows, const int32_t columns, const struct EK_STRUCT *p)
{
    const float *second = rows > 1 ? a + p->a_row : a, *third = rows > 2 ? a + 2 * p->a_row : a;
    const float *fourth = rows > 3 ? a + 3 * p->a_row : a;
    const float *next = columns > 1 ? b + p->b_column : b, *other = columns > 2 ? b + 2 * p->b_column : b;
    const float *last = columns > 3 ? b + 3 * p->b_column : b;
    const float32x4_t zero = vdupq_n_f32(0.0f);
    float32x4_t s00 = zero, s01 = zero, s02 = zero, s03 = zero, s10 = zero, s11 = zero, s12 = zero;
    float32x4_t s13 = zero, s20 = zero, s21 = zero, s22 = zero, s23 = zero, s30 = zero, s31 = zero;
    float32x4_t s32 = zero, s33 = zero;
    int32_t k = 0;
    for (; k + 4 <= p->inner; k += 4)
        EK_NT_FOUR(vld1q_f32)
    for (; k < p->inner; k++)
        EK_NT_FOUR(EK_NT_ONE)
    ek_vf_store(y, columns, ek_f32_across_neon(s00, s01, s02, s03));
    if (rows > 1)
        ek_vf_store(y + p->columns, columns, ek_f32_across_neon(s10, s11, s12, s13));
    if (rows > 2)
        ek_vf_store(y + 2 * p->columns, columns, ek_f32_across_neon(s20, s21, s22, s23));
    if (rows > 3)
        ek_vf_store(y + 3 * p->columns, columns, ek_f32_across_neon(s30, s31, s32, s33));
}

/* One matrix. */
EK_INLINE void EK_FN_matrix(
    const float *EK_RESTRICT a, const float *EK_RESTRICT b, float *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->rows; i += 4, a += 4 * p->a_row, y += 4 * p->columns) {
        const int32_t rows = p->rows - i < 4 ? p->rows - i : 4;
        int32_t j = 0;
        for (; j + 4 <= p->columns; j += 4)
            EK_FN_tile(a, b + j * p->b_column, y + j, rows, 4, p);
        if (j < p->columns)
            EK_FN_tile(a, b + j * p->b_column, y + j, rows, p->columns - j, p);
    }
}

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_FN_matrix, a, b, y, p);
}
