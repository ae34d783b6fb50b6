/* Fully connected layer of int8 for few rows, exact in every engine: see overflow_safe_s8_wasm.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once
 * @when rows < 4 and least_weight > -128 and heavy_pairs() <= 4 and inputs < 1048576
 * @pack w: light O/8! I/4! o8 i4 @pack b: O/8! o8 @pack m: O/8! o8 @pack e: O/8! o8 @fold b: -128 w
 * @scratch rows * inputs + 16 @order rows 8 @work padded products 0.857 */
/* Fully connected layer of int8 with one scale for all outputs.
 * @as relaxed/dense_int.overflow_safe_one_scale each=one @without order @when one_scale @pack m: same! 4
 * @pack e: same! 4 @work padded products 0.814 */
#include "edgekit/contracts/dense_int.h"

/* Once for all layers: modules are fetched. */
static EK_SHARED void EK_FN_all(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w,
    const EK_S *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t is_unsigned = ek_four_unsigned_wasm();
    const struct ek_lines_s8_wasm lines = {scratch, w, b, m, e, y, 1, 0, p->inputs, p->rows, 1,
        (p->inputs + 3) / 4, 0, p->outputs, is_unsigned,
        {EK_RULE(one), EK_RULE(kind), EK_EACH_SCALE, p->zero, p->lo, p->hi}};
    ek_prepare_wasm(x, scratch, p->rows * p->inputs, 4, is_unsigned ? 128 : 0);
    ek_light_rows_wasm(&lines);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_all(x, w, b, m, e, y, scratch, p);
}
