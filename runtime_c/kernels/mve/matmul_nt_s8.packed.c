/* int8 matrix product with transposed b, with Helium: columns of b are packed, and two rows of a go through all
 * of them, see gemm_rows_mve.h.
 * @rule e tfl @when exponent <= 0 or exponent > 32
 * @scratch min((columns + 3) // 4 * 4, max(16, 256 // ((inner + 15) // 16) // 4 * 4))
 * @scratch * (16 * ((inner + 15) // 16) + 9) + 32 * ((inner + 15) // 16)
 * @count matrices: n[0] * n[1] * n[2] * n[3] * n[4] * n[5]
 * @count pairs: matrices * ((rows + 1) // 2)
 * @count pair outputs: pairs * ((columns + 3) // 4)
 * @count pair products: pairs * ((columns + 3) // 4) * ((inner + 15) // 16)
 * @count packed cells: matrices * columns * ((inner + 15) // 16)
 * @count packed columns: matrices * columns
 * @work pairs, pair outputs, pair products, packed cells, packed columns, positions */
#include "edgekit/contracts/matmul_nt_s8.h"
#include "edgekit/loops/matrices.h"

/* One matrix. */
static EK_SHARED void EK_FN_matrix(
    const int8_t *a, const int8_t *b, int8_t *y, uint8_t *scratch, const struct EK_STRUCT *p)
{
    const struct ek_mve_panel panel =
        ek_mve_panel_of(scratch, p->inner, p->columns, p->multiplier, p->exponent);
    for (int32_t j = 0; j < p->columns; j += panel.columns) {
        const int32_t left = p->columns - j, count = left < panel.columns ? left : panel.columns;
        for (int32_t c = 0; c < count; c++) {
            const int32_t total =
                ek_mve_pack_dense(ek_mve_panel_at(&panel, c), b + (j + c) * p->b_row, p->inner);
            panel.b[c] = p->a_zero * (p->inner * p->b_zero - total);
        }
        struct ek_two_rows two = {
            {panel.b, panel.m, 0, 0, 0, 0, panel.e, panel.blocks, panel.w, p->zero, count, p->lo, p->hi}, 0,
            0};
        for (int32_t i = 0; i < p->rows; i += 2) {
            const int32_t more = i + 1 < p->rows;
            ek_mve_take_rows(&two, &panel, a + i * p->a_row, more * p->a_row, y + i * p->columns + j,
                more * p->columns, p->b_zero);
            EK_RULE(two_rows)(&two);
        }
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX_WITH(EK_FN_matrix, a, b, y, scratch, p);
}
