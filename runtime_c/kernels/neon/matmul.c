/* Matrix product of floats: see matmul.h. Four rows and sixteen columns advance together.
 * @for T=f32
 * @when a_inner == 1 and b_column == 1 */
#include "edgekit/contracts/matmul.h"
#include "edgekit/loops/matrices.h"

#define EK_PRODUCT_ROW(i, fma)                                                                               \
    s##i##0 = fma(s##i##0, b0, a##i);                                                                        \
    if (blocks > 1)                                                                                          \
        s##i##1 = fma(s##i##1, b1, a##i);                                                                    \
    if (blocks > 2)                                                                                          \
        s##i##2 = fma(s##i##2, b2, a##i);                                                                    \
    if (blocks > 3)                                                                                          \
        s##i##3 = fma(s##i##3, b3, a##i);

/* What row k of b adds to all sums. */
#define EK_PRODUCT_CELL(k, fma)                                                                              \
    {                                                                                                        \
        const float *from = b + (k) * p->b_inner;                                                            \
        const float32x4_t b0 = ek_f32_some_neon(from, width);                                                \
        const float32x4_t b1 = blocks > 1 ? ek_f32_some_neon(from + 4, width - 4) : b0;                      \
        const float32x4_t b2 = blocks > 2 ? ek_f32_some_neon(from + 8, width - 8) : b0;                      \
        const float32x4_t b3 = blocks > 3 ? ek_f32_some_neon(from + 12, width - 12) : b0;                    \
        EK_PRODUCT_ROW(0, fma)                                                                               \
        EK_PRODUCT_ROW(1, fma)                                                                               \
        EK_PRODUCT_ROW(2, fma)                                                                               \
        EK_PRODUCT_ROW(3, fma)                                                                               \
    }

/* Up to four rows times `width` columns, in blocks of four; rows that are not there are the first one once more. */
EK_INLINE void EK_FN_tile(const float *EK_RESTRICT a, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    const int32_t rows, const int32_t width, const int32_t blocks, const struct EK_STRUCT *p)
{
    const float *second = rows > 1 ? a + p->a_row : a, *third = rows > 2 ? a + 2 * p->a_row : a;
    const float *fourth = rows > 3 ? a + 3 * p->a_row : a;
    const float32x4_t zero = vdupq_n_f32(0.0f);
    float32x4_t s00 = zero, s01 = zero, s02 = zero, s03 = zero, s10 = zero, s11 = zero, s12 = zero;
    float32x4_t s13 = zero, s20 = zero, s21 = zero, s22 = zero, s23 = zero, s30 = zero, s31 = zero;
    float32x4_t s32 = zero, s33 = zero;
    int32_t k = 0;
    for (; k + 4 <= p->inner; k += 4) {
        const float32x4_t a0 = vld1q_f32(a + k), a1 = vld1q_f32(second + k), a2 = vld1q_f32(third + k);
        const float32x4_t a3 = vld1q_f32(fourth + k);
        EK_PRODUCT_CELL(k, EK_FMA_LANE0)
        EK_PRODUCT_CELL(k + 1, EK_FMA_LANE1)
        EK_PRODUCT_CELL(k + 2, EK_FMA_LANE2)
        EK_PRODUCT_CELL(k + 3, EK_FMA_LANE3)
    }
    for (; k < p->inner; k++) {
        const float a0 = a[k], a1 = second[k], a2 = third[k], a3 = fourth[k];
        EK_PRODUCT_CELL(k, vfmaq_n_f32)
    }
    ek_f32_stores_neon(y, s00, s01, s02, s03, width);
    if (rows > 1)
        ek_f32_stores_neon(y + p->columns, s10, s11, s12, s13, width);
    if (rows > 2)
        ek_f32_stores_neon(y + 2 * p->columns, s20, s21, s22, s23, width);
    if (rows > 3)
        ek_f32_stores_neon(y + 3 * p->columns, s30, s31, s32, s33, width);
}

/* One matrix. */
EK_INLINE void EK_FN_matrix(
    const float *EK_RESTRICT a, const float *EK_RESTRICT b, float *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->rows; i += 4, a += 4 * p->a_row, y += 4 * p->columns) {
        const int32_t rows = p->rows - i < 4 ? p->rows - i : 4;
        int32_t j = 0;
        for (; j + 16 <= p->columns; j += 16)
            EK_FN_tile(a, b + j, y + j, rows, 16, 4, p);
        if (j + 8 <= p->columns) {
            EK_FN_tile(a, b + j, y + j, rows, 8, 2, p);
            j += 8;
        }
        for (; j < p->columns; j += 4)
            EK_FN_tile(a, b + j, y + j, rows, p->columns - j < 4 ? p->columns - j : 4, 1, p);
    }
}

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_FN_matrix, a, b, y, p);
}
