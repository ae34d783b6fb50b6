/* Sums of int8 over windows of images, sixteen channels at a time, in the vocabulary of s32_<set>.h. */
#ifndef EDGEKIT_WINDOW_SUMS_H
#define EDGEKIT_WINDOW_SUMS_H

#include "edgekit/types.h"

/* An image and its windows. */
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

/* Adds the sums of at most 256 cells of a row; compilers would unroll a long one, for nothing. */
EK_INLINE void ek_add_row_of_cells(
    ek_vi *sum, const int8_t *x, const int32_t columns, const int32_t is_small, const int32_t step)
{
    ek_v16 row = ek_v16_none();
    if (is_small)
        for (int32_t j = 0; j < columns; j++)
            row = ek_v16_add_s8(row, x + j * step);
    else
        EK_ROLLED_FOR(int32_t j = 0; j < columns; j++)
            row = ek_v16_add_s8(row, x + j * step);
    ek_vi_add_v16(sum, row);
}

/* The sums of the cells of a window that lie inside: a small window that is whole has no loops. */
EK_INLINE void ek_window_sums(
    ek_vi *sum, const int8_t *x, const struct ek_cells_inside *cells, const struct ek_window_sums *p)
{
    const int32_t step = p->dilation_w * p->channels, row_step = p->dilation_h * p->in_w * p->channels;
    const int32_t is_small = !EK_IS_COMPACT && p->k_h <= 4 && p->k_w <= 4;
    x += cells->first;
    for (int32_t k = 0; k < 16 / EK_VI_LANES; k++)
        sum[k] = ek_vi_same(0);
    if (is_small && cells->rows == p->k_h && cells->columns == p->k_w)
        EK_UNROLLED_FOR(4, int32_t i = 0; i < p->k_h; i++)
            ek_add_row_of_cells(sum, x + i * row_step, p->k_w, 1, step);
    else if (is_small)
        for (int32_t i = 0; i < cells->rows; i++)
            ek_add_row_of_cells(sum, x + i * row_step, cells->columns, 1, step);
    else
        EK_ROLLED_FOR(int32_t i = 0; i < cells->rows; i++)
            EK_ROLLED_FOR(int32_t j = 0; j < cells->columns; j += 256)
                ek_add_row_of_cells(sum, x + i * row_step + j * step,
                    cells->columns - j < 256 ? cells->columns - j : 256, 0, step);
}

#endif
