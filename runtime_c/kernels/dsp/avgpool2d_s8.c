/* int8 average pooling with DSP instructions: see pool_dsp.h. Eight channels of a pixel advance together.
 * @when k_h * k_w <= 256 @order pixels 8
 * @work calls, inputs, outputs, parted window lines, tap cells beside 4-vectors, whole line blocks */
#include "edgekit/contracts/avgpool2d_s8.h"

static EK_SHARED void EK_FN_run(const int8_t *x, int8_t *y, const struct EK_STRUCT *p)
{
    const int32_t step = p->channels, line = p->in_w * step;
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
                const int32_t count = cells.rows * cells.columns, half = count / 2;
                for (int32_t c = step; c > 0; c -= 8, from += 8) {
                    if (c >= 8)
                        ek_totals(&cells, from, total, 8);
                    else
                        ek_totals(&cells, from, total, c);
                    for (int32_t i = 0; i < 8 && i < c; i++)
                        *y++ = (int8_t)((total[i] > 0 ? total[i] + half : total[i] - half) / count);
                }
            }
        }
}

EK_KERNEL void EK_FN(const int8_t *x, int8_t *y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, y, p);
}
