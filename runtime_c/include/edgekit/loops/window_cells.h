/* The cells of a window that lie inside the image, for kernels that look at many of them at once. */
#ifndef EDGEKIT_WINDOW_CELLS_H
#define EDGEKIT_WINDOW_CELLS_H

#include "edgekit/types.h"

/* Distances are in elements. */
struct ek_cells {
    int32_t rows;
    int32_t columns;
    int32_t down; /* from one row to the next */
    int32_t right;
};

/* How many of `taps` cells, from *first on and `step` apart, lie in 0 ... size - 1; *first becomes the first of them. */
static EK_SHARED int32_t ek_inside(int32_t *first, int32_t step, int32_t taps, int32_t size)
{
    for (; taps > 0 && *first < 0; taps--)
        *first += step;
    while (taps > 0 && *first + (taps - 1) * step >= size)
        taps--;
    return taps;
}

#endif
