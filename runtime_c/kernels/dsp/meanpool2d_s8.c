/* int8 mean of windows by rule E with DSP instructions: see pool_dsp.h. Eight channels of a pixel advance together.
 * @when k_h * k_w <= 256 and lo == -128 and hi == 127 @order pixels 8
 * @work calls, inputs, outputs, products by 16-vectors, tap cells beside 16-vectors
 * @work tap cells beside 4-vectors, whole line blocks, window 16-vectors */
#include "edgekit/contracts/meanpool2d_s8.h"

static EK_SHARED void EK_FN_run(const int8_t *x, int8_t *y, const struct EK_STRUCT *p)
{
    const int32_t step = p->channels, line = p->in_w * step;
    const struct ek_scale scale = ek_scale_e(p->multiplier, p->exponent, p->zero);
    struct ek_cells cells;
    int32_t total[8];
    cells.down = p->dilation_h * line;
    cells.right = p->dilation_w * step;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * line)
        for (int32_t h = 0; h < p->out_h; h++) {
            int32_t top = h * p->stride_h - p->pad_top;
            cells.rows = ek_inside(&top, p->dilation_h, p->k_h, p->in_h);
            for (int32_t v = 0; v < p->out_w; v++) {
                int32_t left = v * p->stride_w - p->pad_left;
                cells.columns = ek_inside(&left, p->dilation_w, p->k_w, p->in_w);
                const int8_t *from = x + top * line + left * step;
                const int32_t zeros = cells.rows * cells.columns * p->x_zero;
                for (int32_t c = step; c > 0; c -= 8, from += 8) {
                    if (c >= 8)
                        ek_totals(&cells, from, total, 8);
                    else
                        ek_totals(&cells, from, total, c);
                    for (int32_t i = 0; i < 8 && i < c; i++)
                        *y++ = ek_scaled_s8(total[i] - zeros, &scale);
                }
            }
        }
}

EK_KERNEL void EK_FN(const int8_t *x, int8_t *y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, y, p);
}
