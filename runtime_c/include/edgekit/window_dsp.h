/* The window of a convolution, gathered cell by cell, with padding, as one row of bytes. */
#ifndef EDGEKIT_WINDOW_DSP_H
#define EDGEKIT_WINDOW_DSP_H

#include "edgekit/fixed_dsp.h"

/* The image and the window, as in conv2d_int.h. */
struct ek_window {
    int32_t in_h;
    int32_t in_w;
    int32_t in_c;
    int32_t step_h;
    int32_t step_w;
    int32_t step_c;
    int32_t k_h;
    int32_t k_w;
    int32_t dilation_h;
    int32_t dilation_w;
    int32_t in_zero;
};

/* Brings the window that starts at row `top`, column `left` of x, maybe outside, into `to`. */
static EK_SHARED void ek_gather(
    const int8_t *x, int8_t *to, const int32_t top, const int32_t left, const struct ek_window *p)
{
    const int is_dense = p->dilation_w == 1 && p->step_c == 1 && p->step_w == p->in_c;
    const int32_t left_over = p->in_w - left;
    const int32_t before = left >= 0 ? 0 : -left < p->k_w ? -left : p->k_w;
    const int32_t behind = left_over >= p->k_w ? 0 : left_over > 0 ? p->k_w - left_over : p->k_w;
    for (int32_t i = 0; i < p->k_h; i++) {
        const int32_t row = top + i * p->dilation_h;
        const int8_t *line = x + row * p->step_h + left * p->step_w;
        if (row < 0 || row >= p->in_h)
            to = ek_fill_bytes(to, p->in_zero, p->k_w * p->in_c);
        else if (is_dense) {
            if (before > 0)
                to = ek_fill_bytes(to, p->in_zero, before * p->in_c);
            to = ek_copy_bytes(to, line + before * p->in_c, (p->k_w - before - behind) * p->in_c);
            if (behind > 0)
                to = ek_fill_bytes(to, p->in_zero, behind * p->in_c);
        } else
            for (int32_t j = 0; j < p->k_w; j++, line += p->dilation_w * p->step_w) {
                const int32_t column = left + j * p->dilation_w;
                const int is_inside = column >= 0 && column < p->in_w;
                for (int32_t c = 0; c < p->in_c; c++)
                    *to++ = is_inside ? line[c * p->step_c] : (int8_t)p->in_zero;
            }
    }
}

#endif
