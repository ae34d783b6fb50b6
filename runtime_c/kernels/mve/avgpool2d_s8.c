/* int8 average pooling with Helium: see window_cells.h. Eight channels of a pixel advance together.
 * @when k_h * k_w <= 256 @order pixels 8
 * @work lines, output window lines, outputs, positions, products beside 16-vectors
 * @work tap cells beside 16-vectors, whole line blocks */
#include "edgekit/contracts/avgpool2d_s8.h"

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
                const int32_t count = cells.rows * cells.columns;
                for (int32_t c = step; c > 0; c -= 8, from += 8) {
                    ek_mve_divide_total(y, ek_mve_total(&cells, from, c), count, c);
                    y += c < 8 ? c : 8;
                }
            }
        }
}
