/* Fully connected layer of what was quantized in this run. Sixteen outputs advance together.
 * @pack w: O/16 I o16 @work inputs, outputs, padded products, paired outputs, positions */
#include "edgekit/contracts/dynamic_quantize_dense.h"

/* `width` outputs of one row. */
EK_INLINE void EK_FN_block(const int8_t *EK_RESTRICT x, const float x_scale, const int32_t x_zero,
    const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT sums, const float *EK_RESTRICT scale,
    const float *EK_RESTRICT b, float *EK_RESTRICT y, const int32_t width, const int32_t inputs)
{
    int32_t sum[16] = {0};
    for (int32_t i = 0; i < inputs; i++, w += width) {
        const int32_t v = x[i];
        EK_SIDE_BY_SIDE
        for (int32_t o = 0; o < width; o++)
            sum[o] += v * w[o];
    }
    for (int32_t o = 0; o < width; o++) {
        const float factor = x_scale * scale[o], product = factor * (float)(sum[o] - x_zero * sums[o]);
        y[o] = product + b[o];
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const float *EK_RESTRICT x_scale,
    const int8_t *EK_RESTRICT x_zero, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT sums,
    const float *EK_RESTRICT scale, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs, y += p->outputs) {
        int32_t o = 0;
        for (; o + 16 <= p->outputs; o += 16)
            EK_FN_block(
                x, *x_scale, *x_zero, w + o * p->inputs, sums + o, scale + o, b + o, y + o, 16, p->inputs);
        if (o < p->outputs)
            EK_FN_block(x, *x_scale, *x_zero, w + o * p->inputs, sums + o, scale + o, b + o, y + o,
                p->outputs - o, p->inputs);
    }
}
