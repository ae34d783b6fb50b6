/* Where the maxima of a pooling are. */
#include "edgekit/contracts/argmaxpool2d.h"

/* The place, within one image, of the first largest cell of one channel. */
EK_INLINE int64_t EK_FN_place(
    const EK_T *EK_RESTRICT x, const int32_t top, const int32_t left, const struct EK_STRUCT *p)
{
    int64_t place = -1;
    EK_T_ACC most = 0;
    for (int32_t i = 0; i < p->k_h; i++) {
        const int32_t row = top + i * p->dilation_h;
        if (row < 0 || row >= p->in_h)
            continue;
        for (int32_t j = 0; j < p->k_w; j++) {
            const int32_t column = left + j * p->dilation_w;
            if (column < 0 || column >= p->in_w)
                continue;
            const EK_T_ACC v = EK_LOAD_T(x[(row * p->in_w + column) * p->channels]);
            if (place < 0 || v > most) {
                place = (int64_t)row * p->place_h + (int64_t)column * p->place_w;
                most = v;
            }
        }
    }
    return place;
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, int64_t *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->channels)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t w = 0; w < p->out_w; w++)
                for (int32_t c = 0; c < p->channels; c++)
                    *y++ =
                        (int64_t)n * p->place_n + (int64_t)c * p->place_c
                        + EK_FN_place(x + c, h * p->stride_h - p->pad_top, w * p->stride_w - p->pad_left, p);
}
