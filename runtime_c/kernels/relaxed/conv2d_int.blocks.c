/* Convolution of int8 pixel by pixel without the blocks of weights that are zero: see block_sparse_s8_wasm.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once
 * @when zero_blocks(8, 4) >= 20 and k_h == 1 and k_w == 1 and groups == 1 and in_c % 4 == 0 and stride_h == 1
 * @when stride_w == 1 and out_h == in_h and out_w == in_w and pad_top == 0 and pad_left == 0 and step_c == 1
 * @when step_w == in_c and step_h == in_w * in_c and least_weight > -128
 * @pack w: blocks O/8! HWI/4! o8 hwi4 @pack b: O/8! o8 @pack m: O/8! o8 @pack e: O/8! o8 @fold b: -128 w
 * @scratch batch * in_h * in_w * in_c + 16 @order windows 1048576 @work padded products 0.95
 * @as wasm/conv2d_int.blocks four=two
 * @without when zero_blocks(8, 4) >= 20, when in_c % 4 == 0, when least_weight > -128, fold
 * @when zero_blocks(8, 2) > 0 and in_c % 2 == 0 @pack w: blocks O/8! HWI/2! o8 hwi2
 * @scratch 2 * (batch * in_h * in_w * in_c) + 16
 * @count blocks: (out_c + 7) // 8
 * @count tiles: blocks * -(-batch * out_h * out_w // (6 if batch * out_h * out_w > 3 else 1))
 * @count result vectors: batch * out_h * out_w * blocks
 * @work blocks 379, calls 539, inputs 1.88, padded products 3.91, result vectors 55.8, tiles 270 */
#include "edgekit/contracts/conv2d_int.h"

/* Once for all layers: modules are fetched. */
static EK_SHARED void EK_FN_all(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w,
    const EK_S *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t is_unsigned = ek_four_unsigned_wasm(), pixels = p->batch * p->in_h * p->in_w;
    const struct ek_lines_s8_wasm lines = {scratch, w, b, m, e, y, 1, 0, EK_FOUR_BYTES * p->in_c, pixels, 1,
        0, 0, p->out_c, is_unsigned, {EK_RULE(one), EK_RULE(kind), 1, p->zero, p->lo, p->hi}};
    ek_prepare_wasm(x, scratch, pixels * p->in_c, EK_FOUR_CELLS, is_unsigned ? 128 : 0);
    ek_four_blocks_wasm(&lines);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_all(x, w, b, m, e, y, scratch, p);
}
