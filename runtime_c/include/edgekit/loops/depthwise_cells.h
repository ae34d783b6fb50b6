/* The cells of windows of depthwise convolutions, for kernels that read several channels of each at once. */
#ifndef EDGEKIT_DEPTHWISE_CELLS_H
#define EDGEKIT_DEPTHWISE_CELLS_H

#include "edgekit/types.h"

/* The image and the window, as in the layer's parameters. */
struct ek_taps {
    int32_t in_h;
    int32_t in_w;
    int32_t depth; /* channels */
    int32_t padded; /* ... with those that are read behind them */
    int32_t k_h;
    int32_t k_w;
    int32_t dilation_h;
    int32_t dilation_w;
};

/* The cells of the window at (top, left): those outside of x are in `border`, and those of the last ones of x behind it. */
static EK_SHARED void ek_find_cells(
    const int8_t **cells, int8_t *border, const int8_t *x, int32_t top, int32_t left, const struct ek_taps *p)
{
    const int8_t *const last = x + p->in_h * p->in_w * p->depth - p->padded;
    const int8_t *line = x + (top * p->in_w + left) * p->depth;
    const int32_t right = p->dilation_w * p->depth, down = p->dilation_h * p->in_w * p->depth;
    int8_t *copy = border;
    for (int32_t i = p->k_h; i > 0; i--, top += p->dilation_h, line += down) {
        /* Of no row above or below x, a column is inside. */
        const uint32_t inside = top >= 0 && top < p->in_h ? (uint32_t)p->in_w : 0;
        const int8_t *cell = line;
        int32_t column = left;
        for (int32_t j = p->k_w; j > 0; j--, cell += right, column += p->dilation_w) {
            const int8_t *found = border;
            if ((uint32_t)column < inside) {
                found = cell;
                if (cell > last) {
                    copy += p->padded;
                    for (int32_t c = 0; c < p->depth; c++)
                        copy[c] = cell[c];
                    found = copy;
                }
            }
            *cells++ = found;
        }
    }
}

/* The last column where a window whose first row is `top` ends neither outside of x nor with it; below 0 where none. */
static inline int32_t ek_last_column(int32_t top, const struct ek_taps *p)
{
    const int32_t bottom = top + (p->k_h - 1) * p->dilation_h;
    const int32_t behind = (p->in_h - bottom) * p->in_w - (p->padded + p->depth - 1) / p->depth;
    if (top < 0 || bottom >= p->in_h)
        return -1;
    return (behind < p->in_w ? behind : p->in_w - 1) - (p->k_w - 1) * p->dilation_w;
}

#endif
