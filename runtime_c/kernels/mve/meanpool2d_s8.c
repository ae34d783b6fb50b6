/* int8 mean of windows by rule E with Helium: see window_cells.h. Eight channels of a pixel advance together.
 * @when k_h * k_w <= 256 and lo == -128 and hi == 127 @order pixels 8
 * @work inputs, outputs, positions, tap cells beside 16-vectors, tap cells beside 4-vectors
 * @work whole line blocks, window 16-vectors */
#include "edgekit/contracts/meanpool2d_s8.h"

EK_KERNEL void EK_FN(const int8_t *x, int8_t *y, const struct EK_STRUCT *p)
{
    const int32_t step = p->channels, line = p->in_w * step;
    struct ek_cells cells;
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
                    const int16x8_t total = ek_mve_total(&cells, from, c);
                    ek_mve_scale_total(y, total, zeros, p->multiplier, p->exponent, p->zero, c);
                    y += c < 8 ? c : 8;
                }
            }
        }
}
