/* Mean pooling. Sixteen channels of a pixel advance together.
 * @order pixels 16 @work calls, outputs, tap 4-vectors, tap cells beside 16-vectors */
#include "edgekit/contracts/meanpool2d.h"

/* How many of first, first + step, ... (n of them) lie in low ... high - 1. */
EK_INLINE int32_t EK_FN_count(
    const int32_t first, const int32_t step, const int32_t n, const int32_t low, const int32_t high)
{
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++)
        count += first + i * step >= low && first + i * step < high;
    return count;
}

/* `width` channels of one pixel; the window starts at row `top`, column `left` of x, which may be outside. */
EK_INLINE void EK_FN_block(const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, const int32_t top,
    const int32_t left, const int32_t count, const int32_t width, const struct EK_STRUCT *p)
{
    EK_T_ACC sum[16];
    for (int32_t c = 0; c < width; c++)
        sum[c] = 0;
    for (int32_t i = 0; i < p->k_h; i++) {
        const int32_t row = top + i * p->dilation_h;
        if (row < 0 || row >= p->in_h)
            continue;
        for (int32_t j = 0; j < p->k_w; j++) {
            const int32_t column = left + j * p->dilation_w;
            if (column < 0 || column >= p->in_w)
                continue;
            const EK_T *cell = x + (row * p->in_w + column) * p->channels;
            EK_SIDE_BY_SIDE
            for (int32_t c = 0; c < width; c++)
                sum[c] += EK_LOAD_T(cell[c]);
        }
    }
    for (int32_t c = 0; c < width; c++)
        y[c] = EK_STORE_T(sum[c] / (EK_T_ACC)count);
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->channels)
        for (int32_t h = 0; h < p->out_h; h++) {
            const int32_t top = h * p->stride_h - p->pad_top;
            const int32_t rows =
                EK_FN_count(top, p->dilation_h, p->k_h, -p->counted_top, p->in_h + p->counted_bottom);
            for (int32_t w = 0; w < p->out_w; w++, y += p->channels) {
                const int32_t left = w * p->stride_w - p->pad_left;
                const int32_t count =
                    rows
                    * EK_FN_count(left, p->dilation_w, p->k_w, -p->counted_left, p->in_w + p->counted_right);
                int32_t c = 0;
                for (; c + 16 <= p->channels; c += 16)
                    EK_FN_block(x + c, y + c, top, left, count, 16, p);
                if (c < p->channels)
                    EK_FN_block(x + c, y + c, top, left, count, p->channels - c, p);
            }
        }
}
