/* int8 matrix product. b is packed first: see matrices_s8_wasm.h.
 * @rule e e_wide tfl @when a_inner == 1 and b_column == 1 and rows > 1
 * @when inner * 65025 < 2 ** (30 - max(exponent, 0) * (rule == "tfl"))
 * @scratch ((columns + 15) // 16 * 16 + 3) * ((inner + 1) // 2 * 4) + 16 @split rows >= 32 */
/* int8 matrix product with transposed b. b is packed first: see matrices_s8_wasm.h.
 * @as wasm/matmul_nt_s8 pack_rows=pack_columns @without when a_inner == 1, when b_column == 1 */
#include "edgekit/contracts/matmul_s8.h"
#include "edgekit/loops/matrices.h"

/* One matrix. */
EK_INLINE void EK_FN_matrix(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const struct ek_product_wasm s = {p->rows, p->inner, p->columns, p->a_row, p->a_zero, p->multiplier,
        p->exponent, p->zero, p->lo, p->hi};
    int16_t *const room = (int16_t *)(void *)scratch;
    ek_pack_rows_wasm(b, room, p->b_row, p->inner, p->columns, p->b_zero);
    ek_multiply_wasm(a, y, room, &s, EK_RULE(same));
}

#define EK_PRODUCT(a, b, y, p) EK_FN_matrix(a, b, y, scratch, p)

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_PRODUCT, a, b, y, p);
}
#undef EK_PRODUCT
