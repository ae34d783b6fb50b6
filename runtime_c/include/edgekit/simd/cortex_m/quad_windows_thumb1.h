/* The windows of four pixels of an image, one after the other, for kernels that compute these at once. */
#ifndef EDGEKIT_QUAD_WINDOWS_THUMB1_H
#define EDGEKIT_QUAD_WINDOWS_THUMB1_H

#include "edgekit/types.h"

struct ek_quad_windows {
    const int8_t *x; /* the image */
    const int8_t *border; /* a cell outside of it */
    int32_t v; /* the column of the next pixel of the result */
    int32_t top; /* where its window starts */
    int32_t left;
    int32_t in_h;
    int32_t in_w;
    int32_t row; /* elements of x from one row to the next */
    int32_t column; /* ... one column to the next */
    int32_t out_w;
    int32_t k_h;
    int32_t k_w;
    int32_t stride_h;
    int32_t stride_w;
    int32_t pad_left;
    int32_t dilation_h;
    int32_t dilation_w;
};

/* Advances by some pixels, no further than to the start of the next row. */
static inline void ek_advance_windows(struct ek_quad_windows *p, int32_t pixels)
{
    p->v += pixels;
    p->left += pixels * p->stride_w;
    if (p->v == p->out_w) {
        p->v = 0;
        p->left = -p->pad_left;
        p->top += p->stride_h;
    }
}

/* The cells of the next window: of each tap, the first one of four pointers. */
static EK_SHARED void ek_find_window(const int8_t **cells, const struct ek_quad_windows *p)
{
    const int8_t *line = p->x + p->top * p->row + p->left * p->column;
    int32_t row = p->top;
    for (int32_t i = p->k_h; i > 0; i--, row += p->dilation_h, line += p->dilation_h * p->row) {
        /* Of no row above or below x, a column is inside. */
        const uint32_t inside = row >= 0 && row < p->in_h ? (uint32_t)p->in_w : 0;
        const int8_t *cell = line;
        int32_t column = p->left;
        for (int32_t j = p->k_w; j > 0; j--, cells += 4) {
            *cells = (uint32_t)column < inside ? cell : p->border;
            cell += p->dilation_w * p->column;
            column += p->dilation_w;
            __asm("" : "+r"(cell)); /* else compilers unroll these loops by eight */
        }
    }
}

/* The cells of the next `count` windows, and of the last one up to four: four pointers for each tap. */
static EK_SHARED void ek_find_windows(const int8_t **cells, int32_t count, struct ek_quad_windows *p)
{
    const int32_t bottom = p->top + (p->k_h - 1) * p->dilation_h;
    const int32_t right = p->left + 3 * p->stride_w + (p->k_w - 1) * p->dilation_w;
    if (p->v + 4 <= p->out_w && p->top >= 0 && bottom < p->in_h && p->left >= 0 && right < p->in_w) {
        const int8_t *line = p->x + p->top * p->row + p->left * p->column;
        const int32_t step = p->stride_w * p->column, next = p->dilation_w * p->column;
        for (int32_t i = p->k_h; i > 0; i--, line += p->dilation_h * p->row) {
            const int8_t *cell = line;
            for (int32_t j = p->k_w; j > 0; j--, cell += next, cells += 4) {
                cells[0] = cell;
                cells[1] = cell + step;
                cells[2] = cell + 2 * step;
                cells[3] = cell + 3 * step;
                __asm("" : "+r"(cells));
            }
        }
        ek_advance_windows(p, 4);
        return;
    }
    for (int32_t k = 0; k < 4; k++) {
        ek_find_window(cells + k, p);
        if (k < count - 1)
            ek_advance_windows(p, 1);
    }
    ek_advance_windows(p, 1);
}

#endif
