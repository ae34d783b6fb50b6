/* Convolution of int8: see pixel_rows_s8_wasm.h. The image is copied with its borders, so that all windows are whole.
 * Engines may sum two products in 16 bits, which fits, as weights are at least -127.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once
 * @when groups == 1 and dilation_w == 1 and least_weight > -128 @pack w: O/8! H WI/4! o8 wi4
 * @pack b: O/8! o8 @pack m: O/8! o8 @pack e: O/8! o8 @fold b: -128 w
 * @scratch ((out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1) * ((out_w - 1) * stride_w + k_w) * in_c + 16
 * @order windows 1048576 @work padded products 1 */
/* Convolution of int8. As the one for relaxed vectors, with cells of 16 bits.
 * @as wasm/conv2d_int four=two @without when least_weight > -128, fold @pack w: O/8! H WI/2! o8 wi2
 * @scratch 2 * (((out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1) * ((out_w - 1) * stride_w + k_w) * in_c) + 16
 * @count rows: (out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1
 * @count bordered cells: batch * rows * ((out_w - 1) * stride_w + k_w) * in_c
 * @count blocks: batch * ((out_c + 7) // 8)
 * @count tiles: blocks * ((out_h * out_w + 5) // 6)
 * @count runs: tiles * k_h
 * @count steps: runs * ((k_w * in_c + 1) // 2)
 * @count result vectors: blocks * out_h * out_w
 * @work blocks 464, bordered cells 2.87, calls 220, result vectors 50.7, runs 186, steps 109, tiles 154 */
#include "edgekit/contracts/conv2d_int.h"

/* Once for all layers: modules are fetched. */
static EK_SHARED void EK_FN_all(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w,
    const EK_S *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t rows = (p->out_h - 1) * p->stride_h + (p->k_h - 1) * p->dilation_h + 1;
    const int32_t columns = (p->out_w - 1) * p->stride_w + p->k_w, row_step = columns * p->in_c;
    const int32_t is_line = p->out_w * p->stride_w * p->in_c == p->stride_h * row_step;
    const int32_t flip = ek_four_unsigned_wasm() ? 128 : 0;
    const struct ek_image_s8_wasm bordered = {p->in_h, p->in_w, p->in_c, p->step_h, p->step_w, p->step_c,
        p->pad_top, p->pad_left, rows, columns, p->in_zero, flip};
    for (int32_t n = 0; n < p->batch; n++) {
        const EK_X *image = x + n * p->in_h * p->in_w * p->in_c;
        const struct ek_lines_s8_wasm lines = {scratch, w, b, m, e, y + n * p->out_h * p->out_w * p->out_c,
            is_line ? 1 : p->out_h, EK_FOUR_BYTES * p->stride_h * row_step,
            EK_FOUR_BYTES * p->stride_w * p->in_c, is_line ? p->out_h * p->out_w : p->out_w, p->k_h,
            (p->k_w * p->in_c + EK_FOUR_CELLS - 1) / EK_FOUR_CELLS, EK_FOUR_BYTES * p->dilation_h * row_step,
            p->out_c, flip != 0, {EK_RULE(one), EK_RULE(kind), 1, p->zero, p->lo, p->hi}};
        ek_four_bordered_wasm(image, scratch, &bordered);
        ek_four_lines_wasm(&lines);
    }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_all(x, w, b, m, e, y, scratch, p);
}
