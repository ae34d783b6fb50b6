/* Sums of int8 over windows of images, sixteen channels at a time, in the vocabulary of s32_<set>.h. */
#ifndef EDGEKIT_WINDOW_SUMS_H
#define EDGEKIT_WINDOW_SUMS_H

#include "edgekit/types.h"

/* An image and its windows, rows of which have less than 256 cells. */
struct ek_window_sums {
    int32_t in_h;
    int32_t in_w;
    int32_t channels;
    int32_t k_h;
    int32_t k_w;
    int32_t dilation_h;
    int32_t dilation_w;
};

/* The cells of a window that lie inside. */
struct ek_cells_inside {
    int32_t first; /* number of its first element in the image */
    int32_t rows;
    int32_t columns;
};

/* Those of the window that starts at row `top` and column `left` of the image. */
EK_INLINE struct ek_cells_inside ek_cells_inside(int32_t top, int32_t left, const struct ek_window_sums *p)
{
    int32_t rows = p->k_h, columns = p->k_w;
    for (; top < 0; top += p->dilation_h)
        rows--;
    for (; left < 0; left += p->dilation_w)
        columns--;
    while (top + (rows - 1) * p->dilation_h >= p->in_h)
        rows--;
    while (left + (columns - 1) * p->dilation_w >= p->in_w)
        columns--;
    const struct ek_cells_inside inside = {(top * p->in_w + left) * p->channels, rows, columns};
    return inside;
}

/* The sums of sixteen channels of `rows` by `columns` cells. */
EK_INLINE void ek_sums_of_cells(
    ek_vi *sum, const int8_t *x, const int32_t rows, const int32_t columns, const struct ek_window_sums *p)
{
    for (int32_t k = 0; k < 16 / EK_VI_LANES; k++)
        sum[k] = ek_vi_same(0);
    for (int32_t i = 0; i < rows; i++, x += p->dilation_h * p->in_w * p->channels) {
        ek_v16 row = ek_v16_none();
        for (int32_t j = 0; j < columns; j++)
            row = ek_v16_add_s8(row, x + j * p->dilation_w * p->channels);
        ek_vi_add_v16(sum, row);
    }
}

/* The same of the cells of a window that lie inside: compilers know how many there are of a whole one. */
EK_INLINE void ek_window_sums(
    ek_vi *sum, const int8_t *x, const struct ek_cells_inside *cells, const struct ek_window_sums *p)
{
    if (!EK_IS_COMPACT && cells->rows == p->k_h && cells->columns == p->k_w)
        ek_sums_of_cells(sum, x + cells->first, p->k_h, p->k_w, p);
    else
        ek_sums_of_cells(sum, x + cells->first, cells->rows, cells->columns, p);
}

#endif
