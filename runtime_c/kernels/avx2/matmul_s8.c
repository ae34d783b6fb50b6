/* int8 matrix product. b is packed as weights: see matrices_s8_x86.h.
 * @rule e e_wide tfl @when a_inner == 1 and b_column == 1
 * @when inner * 65025 < 2 ** (30 - max(exponent, 0) * (rule == "tfl"))
 * @scratch (columns + 7) // 8 * 8 * ((inner + 1) // 2 * 2 + 9) + rows * ((inner + 1) // 2 * 4 + 4) + 64
 * @split rows >= 32 */
/* int8 matrix product, by AVX-VNNI.
 * @as avxvnni/matmul_s8 x8=x8v @when rows >= 4
 * @scratch (columns + 7) // 8 * 8 * ((inner + 3) // 4 * 4 + 9) + rows * ((inner + 3) // 4 * 4 + 4) + 64 */
/* int8 matrix product, sums of sixteen columns at a time.
 * @as avx512/matmul_s8 x8=x16 @when rows >= 4
 * @scratch (columns + 15) // 16 * 16 * ((inner + 3) // 4 * 4 + 9) + rows * ((inner + 3) // 4 * 4 + 4) + 64 */
/* int8 matrix product with transposed b. b is packed as weights: see matrices_s8_x86.h.
 * @as avx2/matmul_nt_s8 x8_pack_rows=x8_pack_columns @without when a_inner == 1, when b_column == 1
 * @when rows >= 4 */
/* int8 matrix product with transposed b, by AVX-VNNI.
 * @as avxvnni/matmul_nt_s8 x8=x8v like avx2/matmul_nt_s8
 * @scratch (columns + 7) // 8 * 8 * ((inner + 3) // 4 * 4 + 9) + rows * ((inner + 3) // 4 * 4 + 4) + 64 */
/* int8 matrix product with transposed b, sums of sixteen columns at a time.
 * @as avx512/matmul_nt_s8 x8=x16 like avx2/matmul_nt_s8
 * @scratch (columns + 15) // 16 * 16 * ((inner + 3) // 4 * 4 + 9) + rows * ((inner + 3) // 4 * 4 + 4) + 64 */
#include "edgekit/contracts/matmul_s8.h"
#include "edgekit/loops/matrices.h"
#include "edgekit/simd/x86/rules_x86.h"

/* One matrix. */
EK_INLINE void EK_FN_matrix(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const struct ek_x8_product s = {p->rows, p->inner, p->columns, p->a_row, p->a_zero, p->b_zero,
        EK_RULE(kind), p->multiplier, p->exponent, p->zero, p->lo, p->hi};
    ek_x8_pack_rows(b, (int8_t *)scratch, p->b_row, p->inner, p->columns);
    ek_x8_multiply(a, y, scratch, &s);
}

#define EK_PRODUCT(a, b, y, p) EK_FN_matrix(a, b, y, scratch, p)

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_PRODUCT, a, b, y, p);
}
#undef EK_PRODUCT
