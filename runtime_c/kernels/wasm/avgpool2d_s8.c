/* int8 average pooling: see avgpool2d_s8.h. Sixteen channels advance together.
 * @when k_w < 256
 * @order pixels 1 */
#include "edgekit/contracts/avgpool2d_s8.h"

#include <wasm_simd128.h>

/* Sixteen channels of one window, the cells of which start at row `top`, column `left` of x; sums of a row fit into 16
 * bits. */
static EK_SHARED __attribute__((minsize)) void EK_FN_sixteen(
    const int8_t *x, int8_t *y, const int32_t top, const int32_t left, const struct EK_STRUCT *p)
{
    int32_t sums[16], cells = 0;
    const v128_t none = wasm_i32x4_splat(0);
    v128_t sum[4] = {none, none, none, none};
    for (int32_t i = 0; i < p->k_h; i++) {
        const int32_t row = top + i * p->dilation_h;
        v128_t low = none, high = none;
        for (int32_t j = 0; j < p->k_w; j++) {
            const int32_t column = left + j * p->dilation_w;
            if (row < 0 || row >= p->in_h || column < 0 || column >= p->in_w)
                continue;
            const v128_t cell = wasm_v128_load(x + (row * p->in_w + column) * p->channels);
            low = wasm_i16x8_add(low, wasm_i16x8_extend_low_i8x16(cell));
            high = wasm_i16x8_add(high, wasm_i16x8_extend_high_i8x16(cell));
            cells++;
        }
        sum[0] = wasm_i32x4_add(sum[0], wasm_i32x4_extend_low_i16x8(low));
        sum[1] = wasm_i32x4_add(sum[1], wasm_i32x4_extend_high_i16x8(low));
        sum[2] = wasm_i32x4_add(sum[2], wasm_i32x4_extend_low_i16x8(high));
        sum[3] = wasm_i32x4_add(sum[3], wasm_i32x4_extend_high_i16x8(high));
    }
    for (int32_t k = 0; k < 4; k++)
        wasm_v128_store(sums + 4 * k, sum[k]);
    for (int32_t c = 0; c < 16; c++)
        y[c] = (int8_t)((sums[c] > 0 ? sums[c] + cells / 2 : sums[c] - cells / 2) / cells);
}

/* One channel of one window. */
static EK_SHARED __attribute__((minsize)) int8_t EK_FN_one(
    const int8_t *x, const int32_t top, const int32_t left, const struct EK_STRUCT *p)
{
    int32_t sum = 0, cells = 0;
    for (int32_t i = 0; i < p->k_h; i++)
        for (int32_t j = 0; j < p->k_w; j++) {
            const int32_t row = top + i * p->dilation_h, column = left + j * p->dilation_w;
            if (row < 0 || row >= p->in_h || column < 0 || column >= p->in_w)
                continue;
            sum += x[(row * p->in_w + column) * p->channels];
            cells++;
        }
    return (int8_t)((sum > 0 ? sum + cells / 2 : sum - cells / 2) / cells);
}

EK_KERNEL void EK_FN(const int8_t *x, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->channels)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++, y += p->channels) {
                const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
                int32_t c = 0;
                for (; c + 16 <= p->channels; c += 16)
                    EK_FN_sixteen(x + c, y + c, top, left, p);
                for (; c < p->channels; c++)
                    y[c] = EK_FN_one(x + c, top, left, p);
            }
}
