/* The window of a convolution whose channels lie in planes, gathered as one row: see im2col_dsp.h. */
#ifndef EDGEKIT_IM2COL_CHW_DSP_H
#define EDGEKIT_IM2COL_CHW_DSP_H

#include "edgekit/simd/cortex_m/im2col_dsp.h"

/* Brings the window that starts at row `top`, column `left` of x, maybe outside, into `to`: numbers of `size` bytes. */
static inline void ek_gather_planes(const int8_t *x, int8_t *to, const int32_t top, const int32_t left,
    const struct ek_window *p, const uint32_t size)
{
    const int32_t step = p->dilation_w, cell = step * p->step_w, next = p->step_c * (int32_t)size;
    /* Cells in front of the image, and up to its end. */
    int32_t before = left < 0 ? (step - 1 - left) / step : 0;
    int32_t end = left < p->in_w ? (p->in_w - left + step - 1) / step : 0;
    before = before < p->k_w ? before : p->k_w;
    end = end < p->k_w ? end : p->k_w;
    for (int32_t i = 0; i < p->k_h; i++) {
        const int32_t row = top + i * p->dilation_h;
        if (row < 0 || row >= p->in_h) {
            to = ek_fill_bytes(to, p->in_zero, p->k_w * p->in_c);
            continue;
        }
        const int8_t *from = x + row * p->step_h + left * p->step_w + before * cell;
        if (before > 0)
            to = ek_fill_bytes(to, p->in_zero, before * p->in_c);
        if (p->in_c == 3 * (int32_t)size)
            for (int32_t j = before; j < end; j++, from += cell, to += 3 * size) {
                __builtin_memcpy(to, from, size);
                __builtin_memcpy(to + size, from + next, size);
                __builtin_memcpy(to + 2 * size, from + 2 * next, size);
            }
        else if (end - before > p->in_c / (int32_t)size) {
            for (int32_t c = 0; c < p->in_c; c += (int32_t)size, from += next) {
                const int8_t *number = from;
                int8_t *at = to + c;
                for (int32_t j = before; j < end; j++, number += cell, at += p->in_c)
                    __builtin_memcpy(at, number, size);
            }
            to += (end - before) * p->in_c;
        } else
            for (int32_t j = before; j < end; j++, from += cell) {
                const int8_t *number = from;
                for (const int8_t *last = to + p->in_c; to != last; to += size, number += next)
                    __builtin_memcpy(to, number, size);
            }
        if (end < p->k_w)
            to = ek_fill_bytes(to, p->in_zero, (p->k_w - end) * p->in_c);
    }
}

static EK_SHARED void ek_planes_gather(
    const int8_t *x, int8_t *to, int32_t top, int32_t left, const struct ek_window *p)
{
    ek_gather_planes(x, to, top, left, p, 1);
}

static EK_SHARED void ek_half_planes_gather(
    const int8_t *x, int8_t *to, int32_t top, int32_t left, const struct ek_window *p)
{
    ek_gather_planes(x, to, top, left, p, 2);
}

#endif
