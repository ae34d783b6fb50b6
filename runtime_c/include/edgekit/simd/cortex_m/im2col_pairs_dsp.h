/* The windows of two pixels at a time, row by row, side by side: see pixel_pairs_dsp.h. Rows of a window are filled up to
 * whole fours, by anything: weights are zero there. Where both windows are parts of x, nothing is copied. */
#ifndef EDGEKIT_IM2COL_PAIRS_DSP_H
#define EDGEKIT_IM2COL_PAIRS_DSP_H

#include "edgekit/simd/cortex_m/im2col_chw_dsp.h"
#include "edgekit/simd/cortex_m/pixel_pairs_dsp.h"

/* Rows of a window, and the windows of an image in their order. */
struct ek_window_rows {
    struct ek_window row; /* with k_h = 1, or all rows of the window where nothing fills them up */
    int32_t rows;
    int32_t numbers; /* of a row, whole fours */
    int32_t bytes;
    int32_t out_w;
    int32_t stride_h;
    int32_t stride_w;
    int32_t pad_left;
    int32_t top; /* of the next window */
    int32_t left;
    int32_t columns; /* windows from there to the right end, with the next one */
    int32_t last_left; /* of the windows there that are parts of x, with what fills up their rows; or -1 */
};

/* Goes to the first window of a row of windows. */
static EK_SHARED void ek_start_windows(struct ek_window_rows *p, int32_t top)
{
    const struct ek_window *const x = &p->row;
    const int32_t bottom = top + (p->rows - 1) * x->dilation_h;
    int32_t last = x->in_w - x->k_w;
    p->top = top;
    p->left = -p->pad_left;
    p->columns = p->out_w;
    if (top < 0 || bottom >= x->in_h || x->dilation_w > 1 || x->step_w != x->in_c || x->step_c > 1)
        last = -1;
    while (last >= 0 && bottom * x->step_h + last * x->step_w + p->bytes > x->in_h * x->step_h)
        last--;
    p->last_left = last;
}

static inline void ek_next_window(struct ek_window_rows *p)
{
    p->left += p->stride_w;
    if (--p->columns == 0)
        ek_start_windows(p, p->top + p->stride_h);
}

typedef void ek_gather(const int8_t *, int8_t *, int32_t, int32_t, const struct ek_window *);
typedef void ek_spread(const void *, const void *, int32_t *, int32_t);

/* Brings the next two windows of x into `to`, or the last one twice. Copies of them, where they are needed, are made in
 * the memory that ends so many bytes behind it: twice a number and once more. */
EK_INLINED void ek_spread_windows(const int8_t *x, int32_t *to, int32_t windows, struct ek_window_rows *p,
    const int32_t size, ek_gather *gather, ek_spread *spread)
{
    const struct ek_window *const row = &p->row;
    const int32_t down = row->dilation_h * row->step_h, numbers = p->rows * p->numbers;
    const int32_t top = p->top, left = p->left;
    const int is_inside = left >= 0 && left <= p->last_left;
    if (windows > 1)
        ek_next_window(p);
    const int32_t next_top = p->top, next_left = p->left;
    if (is_inside && next_left >= 0 && next_left <= p->last_left) {
        const int8_t *one = x + top * row->step_h + left * row->step_w;
        const int8_t *other = x + next_top * row->step_h + next_left * row->step_w;
        for (int32_t i = p->rows; i > 0; i--, one += down, other += down, to += p->numbers)
            spread(one, other, to, p->numbers);
    } else {
        int8_t *const other = (int8_t *)(to + numbers), *const one = other - numbers * size;
        for (int32_t i = 0, at = 0; i < p->rows; i += row->k_h, at += p->bytes) {
            gather(x, one + at, top + i * row->dilation_h, left, row);
            gather(x, other + at, next_top + i * row->dilation_h, next_left, row);
        }
        spread(one, other, to, numbers);
    }
    ek_next_window(p);
}

/* Of an image of bytes, pixel by pixel. */
static EK_SHARED void ek_cells_spread(const int8_t *x, int32_t *to, int32_t windows, struct ek_window_rows *p)
{
    ek_spread_windows(x, to, windows, p, 1, ek_cells_gather, ek_bytes_spread);
}

/* Of an image of bytes in planes of channels. */
static EK_SHARED void ek_planes_spread(
    const int8_t *x, int32_t *to, int32_t windows, struct ek_window_rows *p)
{
    ek_spread_windows(x, to, windows, p, 1, ek_planes_gather, ek_bytes_spread);
}

/* Of an image of 16 bits, pixel by pixel. */
static EK_SHARED void ek_half_cells_spread(
    const int8_t *x, int32_t *to, int32_t windows, struct ek_window_rows *p)
{
    ek_spread_windows(x, to, windows, p, 2, ek_cells_gather, ek_halves_spread);
}

#endif
