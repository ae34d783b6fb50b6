/* Fully connected layer of int8 without the blocks of weights that are zero: see block_sparse_s8_wasm.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once
 * @when zero_blocks(8, 4) >= 10 + 2500 // inputs and inputs % 4 == 0 and least_weight > -128
 * @pack w: blocks O/8! I/4! o8 i4 @pack b: O/8! o8 @pack m: O/8! o8 @pack e: O/8! o8 @fold b: -128 w
 * @scratch rows * inputs + 16 @order rows 8 @work padded products 0.902
 * @as wasm/dense_int.blocks four=two @without when, fold @when zero_blocks(8, 2) > 0 and inputs % 2 == 0
 * @pack w: blocks O/8! I/2! o8 i2 @scratch 2 * (rows * inputs) + 16
 * @work padded products 6, positions 794, weights 1.39 */
#include "edgekit/contracts/dense_int.h"

/* Once for all layers: modules are fetched. */
static EK_SHARED void EK_FN_all(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w,
    const EK_S *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t is_unsigned = ek_four_unsigned_wasm();
    const struct ek_lines_s8_wasm lines = {scratch, w, b, m, e, y, 1, 0, EK_FOUR_BYTES * p->inputs, p->rows,
        1, 0, 0, p->outputs, is_unsigned, {EK_RULE(one), EK_RULE(kind), 1, p->zero, p->lo, p->hi}};
    ek_prepare_wasm(x, scratch, p->rows * p->inputs, EK_FOUR_CELLS, is_unsigned ? 128 : 0);
    ek_four_blocks_wasm(&lines);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_all(x, w, b, m, e, y, scratch, p);
}
