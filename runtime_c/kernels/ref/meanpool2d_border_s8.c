/* int8 mean of windows that differ in how many cells count.
 * @order pixels 1
 * @work border cells, inputs, lines, positions, tap cells beside 16-vectors, tap cells beside 4-vectors
 * @work window 16-vectors */
#include "edgekit/contracts/meanpool2d_border_s8.h"

/* How many of first, first + step, ... (n of them) lie in low ... high - 1. */
EK_INLINE int32_t EK_FN_count(
    const int32_t first, const int32_t step, const int32_t n, const int32_t low, const int32_t high)
{
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++)
        count += first + i * step >= low && first + i * step < high;
    return count;
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e,
    int8_t *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->channels)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++) {
                const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
                const int32_t count =
                    EK_FN_count(top, p->dilation_h, p->k_h, -p->counted_top, p->in_h + p->counted_bottom)
                    * EK_FN_count(left, p->dilation_w, p->k_w, -p->counted_left, p->in_w + p->counted_right);
                for (int32_t c = 0; c < p->channels; c++) {
                    int32_t acc = 0;
                    for (int32_t i = 0; i < p->k_h; i++) {
                        const int32_t row = top + i * p->dilation_h;
                        if (row < 0 || row >= p->in_h)
                            continue;
                        for (int32_t j = 0; j < p->k_w; j++) {
                            const int32_t column = left + j * p->dilation_w;
                            if (column >= 0 && column < p->in_w)
                                acc += x[(row * p->in_w + column) * p->channels + c] - p->x_zero;
                        }
                    }
                    *y++ = ek_clamp_s8(p->zero + ek_requantize_e_wide(acc, m[count], e[count]), p->lo, p->hi);
                }
            }
}
