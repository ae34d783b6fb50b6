/* Pooling. Sixteen channels of a pixel advance together.
 * @order pixels 16
 * @work border cells, inputs, lines, positions, tap 4-vectors, tap cells beside 16-vectors
 * @work tap cells beside 4-vectors, window 16-vectors */
/* Largest int8 of windows with Helium: compilers find the vectors.
 * @as mve/maxpool2d_s8 T=s8 @without order
 * @work border cells, calls, output windows, tap cells beside 16-vectors, tap cells beside 4-vectors */
#include "edgekit/contracts/pool2d.h"

/* `width` channels of one pixel; the window starts at row `top`, column `left` of x, which may be outside. */
EK_INLINE void EK_FN_block(const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, const int32_t top,
    const int32_t left, const int32_t width, const struct EK_STRUCT *p)
{
    EK_T_ACC result[16];
    for (int32_t c = 0; c < width; c++)
        result[c] = p->start;
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
            for (int32_t c = 0; c < width; c++) {
                const EK_T_ACC a = result[c], b = EK_LOAD_T(cell[c]);
                result[c] = EK_EXPR;
            }
        }
    }
    for (int32_t c = 0; c < width; c++)
        y[c] = EK_STORE_T(result[c]);
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->channels)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t w = 0; w < p->out_w; w++, y += p->channels) {
                const int32_t top = h * p->stride_h - p->pad_top, left = w * p->stride_w - p->pad_left;
                int32_t c = 0;
                for (; c + 16 <= p->channels; c += 16)
                    EK_FN_block(x + c, y + c, top, left, 16, p);
                if (c < p->channels)
                    EK_FN_block(x + c, y + c, top, left, p->channels - c, p);
            }
}
