/* Convolution of int8 with windows of 3 by 3 cells: see winograd_s8_wasm.h. The image is copied with its borders, so
 * that all tiles are whole. Weights are transformed once for all tiles.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once
 * @when groups == 1 and k_h == 3 and k_w == 3 and stride_h == 1 and stride_w == 1 and dilation_h == 1
 * @when dilation_w == 1 and in_c % 8 == 0
 * @when acc_bits <= 25 @pack w: O/8! I/2! H W o8 i2 @pack b: O/8! o8 @pack m: O/8! o8 @pack e: O/8! o8
 * @scratch 2 * in_c * ((out_h + 3) // 4 * 4 + 2) * ((out_w + 3) // 4 * 4 + 2)
 * @scratch + ((out_h + 3) // 4) * ((out_w + 3) // 4) * (72 * in_c + 512) + 576 * in_c + 11520
 * @order windows 1048576
 * @count across: (out_w + 3) // 4
 * @count down: (out_h + 3) // 4
 * @count blocks: batch * ((out_c + 7) // 8)
 * @count bordered cells: batch * (4 * down + 2) * (4 * across + 2) * in_c
 * @count output tiles: down * across * blocks
 * @count weight vectors: blocks * in_c
 * @count points: 36 * blocks * ((down * across + 5) // 6)
 * @count steps: points * (in_c // 4)
 * @work bordered cells 13.8, output tiles 3370, points 129, steps 227, weight vectors 614 */
#include "edgekit/contracts/conv2d_int.h"

/* Once for all layers: modules are fetched. */
static EK_SHARED EK_SMALL_WASM void EK_FN_all(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w,
    const EK_S *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t down = (p->out_h + 3) / 4, across = (p->out_w + 3) / 4;
    const int32_t rows = 4 * down + 2, columns = 4 * across + 2;
    const struct ek_image_s8_wasm bordered = {p->in_h, p->in_w, p->in_c, p->step_h, p->step_w, p->step_c,
        p->pad_top, p->pad_left, rows, columns, p->in_zero, 0};
    int16_t *const image = (int16_t *)(void *)scratch, *const cells = image + rows * columns * p->in_c;
    int16_t *const weights = cells + EK_POINTS_WASM * (down * across * p->in_c + EK_APART_WASM);
    int32_t *const products = (int32_t *)(void *)(weights + EK_POINTS_WASM * (8 * p->in_c + EK_APART_WASM));
    for (int32_t n = 0; n < p->batch; n++) {
        const struct ek_points_s8_wasm points = {image, w, b, m, e, y + n * p->out_h * p->out_w * p->out_c,
            cells, weights, products, products + EK_POINTS_WASM * 48, p->in_c, p->out_c, p->out_h, p->out_w,
            down, across, {EK_RULE(one), EK_RULE(kind), 1, p->zero, p->lo, p->hi}};
        ek_two_bordered_wasm(x + n * p->in_h * p->in_w * p->in_c, scratch, &bordered);
        ek_points_s8_wasm(&points);
    }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_all(x, w, b, m, e, y, scratch, p);
}
