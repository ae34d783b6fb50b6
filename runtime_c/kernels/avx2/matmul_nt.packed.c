/* Matrix product of floats with transposed b, of many rows. As many columns of b as are computed together are packed as
 * weights of layers are; rows of a are the pixels of a line: pixel_rows_f32.h.
 * @for T=f32 @scratch 4 * 16 * inner @split rows >= 24
 * @count matrices: n[0] * n[1] * n[2] * n[3] * n[4] * n[5]
 * @count vectors: matrices * ((columns + 7) // 8)
 * @count packed vectors: vectors * inner
 * @count product vectors: vectors * inner * rows
 * @count result vectors: vectors * rows
 * @work packed vectors 8.99, product vectors 2.65, result vectors 2.8 */
/* Matrix product of floats with transposed b, of many rows, with AVX-512.
 * @as avx512/matmul_nt.packed
 * @scratch 4 * 64 * inner @split rows >= (32 if inner > 64 else 16)
 * @count vectors: matrices * ((columns + 15) // 16)
 * @work packed vectors 19.4, product vectors 1.29, result vectors 7.71 */
#include "edgekit/contracts/matmul_nt.h"
#include "edgekit/loops/matrices.h"

/* One matrix. */
EK_INLINE void EK_FN_matrix(const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y,
    float *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    for (int32_t j = 0; j < p->columns; j += EK_VF_PART) {
        const int32_t columns = p->columns - j < EK_VF_PART ? p->columns - j : EK_VF_PART;
        const int32_t width = (columns + EK_VF_LANES - 1) / EK_VF_LANES * EK_VF_LANES;
        const struct ek_window_f32 s = {
            1, 1, p->inner, 0, 0, 1, 0, width, EK_VF_LANES, 0, columns, EK_F32_KIND, -EK_INF_f32, EK_INF_f32};
        ek_vf_pack_columns(b + j * p->b_row, scratch, p->b_row, p->inner, columns, width);
        ek_line_f32(a, (const uint8_t *)scratch, 0, 0, y + j, p->a_row, p->columns, p->rows, &s);
    }
}

#define EK_PRODUCT(a, b, y, p) EK_FN_matrix(a, b, y, (float *)(void *)scratch, p)

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_PRODUCT, a, b, y, p);
}
#undef EK_PRODUCT
