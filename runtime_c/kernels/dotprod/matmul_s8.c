/* int8 matrix product by SDOT. b is packed as weights: see matrices_s8_neon.h.
 * @rule e e_wide tfl @when a_inner == 1 and b_column == 1 and rows >= 4
 * @scratch 4 * rows + inner + (columns + 3) // 4 * 4 * ((inner + 3) // 4 * 4) + 144 @split rows >= 32 */
/* int8 matrix product by SMMLA.
 * @as i8mm/matmul_s8 dot=mmla
 * @scratch 4 * rows + inner + (columns + 3) // 4 * 4 * ((inner + 7) // 8 * 8) + 144 */
/* int8 matrix product with transposed b by SDOT. b is packed as weights: see matrices_s8_neon.h.
 * @as dotprod/matmul_nt_s8 pack_rows=pack_columns @without when a_inner == 1, when b_column == 1 */
/* int8 matrix product with transposed b by SMMLA.
 * @as i8mm/matmul_nt_s8 dot=mmla like dotprod/matmul_nt_s8
 * @scratch 4 * rows + inner + (columns + 3) // 4 * 4 * ((inner + 7) // 8 * 8) + 144 */
#include "edgekit/contracts/matmul_s8.h"
#include "edgekit/loops/matrices.h"

/* One matrix. */
EK_INLINE void EK_FN_matrix(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const struct ek_product_neon s = {p->rows, p->inner, p->columns, p->a_row, p->a_zero, p->b_zero,
        p->multiplier, p->exponent, p->zero, p->lo, p->hi};
    int8_t *const w = (int8_t *)scratch + 4 * p->rows + (p->inner + 15) / 16 * 16;
    ek_pack_rows_neon(b, w, p->b_row, p->inner, p->columns, EK_DOT_CELLS);
    ek_multiply_neon(a, w, y, scratch, &s, EK_DOT_CELLS, ek_dot_s8_neon, EK_RULE(same));
}

#define EK_PRODUCT(a, b, y, p) EK_FN_matrix(a, b, y, scratch, p)

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_PRODUCT, a, b, y, p);
}
#undef EK_PRODUCT
