/* int8 mean of windows that differ in how many cells count, with DSP instructions: see pool_dsp.h. Eight channels of
 * a pixel advance together.
 * @when k_h * k_w <= 256 and lo == -128 and hi == 127
 * @work border cells, outputs, tap cells beside 16-vectors, whole line blocks */
#include "edgekit/contracts/meanpool2d_border_s8.h"

static EK_SHARED void EK_FN_run(
    const int8_t *x, const int32_t *m, const int8_t *e, int8_t *y, const struct EK_STRUCT *p)
{
    const int32_t step = p->channels, line = p->in_w * step;
    struct ek_cells cells;
    int32_t total[8];
    cells.down = p->dilation_h * line;
    cells.right = p->dilation_w * step;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * line)
        for (int32_t h = 0; h < p->out_h; h++) {
            int32_t top = h * p->stride_h - p->pad_top, above = top + p->counted_top;
            const int32_t high =
                ek_inside(&above, p->dilation_h, p->k_h, p->counted_top + p->in_h + p->counted_bottom);
            cells.rows = ek_inside(&top, p->dilation_h, p->k_h, p->in_h);
            for (int32_t v = 0; v < p->out_w; v++) {
                int32_t left = v * p->stride_w - p->pad_left, before = left + p->counted_left;
                const int32_t count =
                    high
                    * ek_inside(&before, p->dilation_w, p->k_w, p->counted_left + p->in_w + p->counted_right);
                cells.columns = ek_inside(&left, p->dilation_w, p->k_w, p->in_w);
                const int8_t *from = x + top * line + left * step;
                const int32_t zeros = cells.rows * cells.columns * p->x_zero;
                const struct ek_scale scale = ek_scale_e(m[count], e[count], p->zero);
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

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e,
    int8_t *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, m, e, y, p);
}
