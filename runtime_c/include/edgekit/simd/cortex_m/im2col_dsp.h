/* The window of a convolution, gathered cell by cell, with padding, as one row of bytes. */
#ifndef EDGEKIT_IM2COL_DSP_H
#define EDGEKIT_IM2COL_DSP_H

#include "edgekit/simd/cortex_m/copies_dsp.h"

/* The image and the window, as in the layer's parameters, in bytes; in_c are the channels of a group. */
struct ek_window {
    int32_t in_h;
    int32_t in_w;
    int32_t in_c;
    int32_t step_h;
    int32_t step_w;
    int32_t step_c; /* in numbers: 1, or those of a plane where x is channels-first */
    int32_t k_h;
    int32_t k_w;
    int32_t dilation_h;
    int32_t dilation_w;
    int32_t in_zero;
};

/* Brings the window that starts at row `top`, column `left` of x, maybe outside, into `to`. Whole words are copied:
 * behind the window there is room for three bytes. */
static EK_SHARED void ek_cells_gather(
    const int8_t *x, int8_t *to, const int32_t top, const int32_t left, const struct ek_window *p)
{
    const int is_dense = p->dilation_w == 1 && p->step_w == p->in_c;
    const int32_t bytes = p->k_w * p->in_c, first = top * p->step_h + left * p->step_w;
    const int32_t bottom = top + (p->k_h - 1) * p->dilation_h;
    /* What is read behind the last row must be a part of x, too. */
    if (is_dense && top >= 0 && left >= 0 && left + p->k_w <= p->in_w
        && bottom * p->step_h + left * p->step_w + bytes + 3 <= p->in_h * p->step_h) {
        const int8_t *line = x + first;
        for (int32_t i = 0; i < p->k_h; i++, line += p->dilation_h * p->step_h, to += bytes)
            ek_copy_words(to, line, bytes);
        return;
    }
    const int32_t left_over = p->in_w - left;
    const int32_t before = left >= 0 ? 0 : -left < p->k_w ? -left : p->k_w;
    const int32_t behind = left_over >= p->k_w ? 0 : left_over > 0 ? p->k_w - left_over : p->k_w;
    for (int32_t i = 0; i < p->k_h; i++) {
        const int32_t row = top + i * p->dilation_h;
        const int8_t *line = x + row * p->step_h + left * p->step_w;
        if (row < 0 || row >= p->in_h)
            to = ek_fill_bytes(to, p->in_zero, bytes);
        else if (is_dense) {
            to = ek_fill_bytes(to, p->in_zero, before * p->in_c);
            to = ek_copy_bytes(to, line + before * p->in_c, bytes - (before + behind) * p->in_c);
            to = ek_fill_bytes(to, p->in_zero, behind * p->in_c);
        } else
            for (int32_t j = 0; j < p->k_w; j++, line += p->dilation_w * p->step_w) {
                const int32_t column = left + j * p->dilation_w;
                if (column < 0 || column >= p->in_w)
                    to = ek_fill_bytes(to, p->in_zero, p->in_c);
                else
                    to = ek_copy_bytes(to, line, p->in_c);
            }
    }
}

#endif
