/* Fully connected layer of int8: see pixel_rows_s8_wasm.h. Rows are the pixels of a line.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once @when least_weight > -128 @pack w: O/8! I/4! o8 i4
 * @pack b: O/8! o8 @pack m: O/8! o8 @pack e: O/8! o8 @fold b: -128 w @scratch rows * inputs + 16
 * @order rows 8 @work padded products 1 */
/* Fully connected layer of int8 with one scale for all outputs.
 * @as relaxed/dense_int.one_scale each=one @without order @when one_scale @pack m: same! 4
 * @pack e: same! 4 @work padded products 0.95
 * @as wasm/dense_int.one_scale four=two like relaxed/dense_int.one_scale @without when, fold
 * @when one_scale @pack w: O/8! I/2! o8 i2 @scratch 2 * (rows * inputs) + 16
 * @work positions 773, products 1.59 */
/* Fully connected layer of int8. As the one for relaxed vectors, with cells of 16 bits.
 * @as wasm/dense_int four=two @without when, fold @pack w: O/8! I/2! o8 i2
 * @scratch 2 * (rows * inputs) + 16 @work positions 812, products 1.67 */
#include "edgekit/contracts/dense_int.h"

/* Once for all layers, of each of two kinds: modules are fetched. `few`: rows one at a time. */
EK_INLINE void EK_FN_any(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p, const int32_t few)
{
    const int32_t is_unsigned = ek_four_unsigned_wasm();
    const struct ek_lines_s8_wasm lines = {scratch, w, b, m, e, y, 1, 0, EK_FOUR_BYTES * p->inputs, p->rows,
        1, (p->inputs + EK_FOUR_CELLS - 1) / EK_FOUR_CELLS, 0, p->outputs, is_unsigned,
        {EK_RULE(one), EK_RULE(kind), EK_EACH_SCALE, p->zero, p->lo, p->hi}};
    ek_prepare_wasm(x, scratch, p->rows * p->inputs, EK_FOUR_CELLS, is_unsigned ? 128 : 0);
    if (few)
        ek_four_rows_wasm(&lines);
    else
        ek_four_lines_wasm(&lines);
}

static EK_SHARED void EK_FN_few(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w,
    const EK_S *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_any(x, w, b, m, e, y, scratch, p, 1);
}

static EK_SHARED void EK_FN_many(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w,
    const EK_S *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_any(x, w, b, m, e, y, scratch, p, 0);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    /* Six rows at a time are a waste where there are few, and less code where there is little to do. */
    if (p->rows < 4 && p->inputs * p->outputs > 1000)
        EK_FN_few(x, w, b, m, e, y, scratch, p);
    else
        EK_FN_many(x, w, b, m, e, y, scratch, p);
}
