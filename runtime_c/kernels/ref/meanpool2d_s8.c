/* int8 mean of windows by rule E.
 * @order pixels 1
 * @work calls, inputs, lines, output windows, outputs, products by 16-vectors, tap cells beside 4-vectors
 * @work window 16-vectors */
#include "edgekit/contracts/meanpool2d_s8.h"

EK_KERNEL void EK_FN(const int8_t *x, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->channels)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++)
                for (int32_t c = 0; c < p->channels; c++) {
                    int32_t acc = 0;
                    for (int32_t i = 0; i < p->k_h; i++) {
                        const int32_t row = h * p->stride_h - p->pad_top + i * p->dilation_h;
                        if (row < 0 || row >= p->in_h)
                            continue;
                        for (int32_t j = 0; j < p->k_w; j++) {
                            const int32_t column = v * p->stride_w - p->pad_left + j * p->dilation_w;
                            if (column >= 0 && column < p->in_w)
                                acc += x[(row * p->in_w + column) * p->channels + c] - p->x_zero;
                        }
                    }
                    *y++ = ek_clamp_s8(p->zero + EK_EXPR, p->lo, p->hi);
                }
}
