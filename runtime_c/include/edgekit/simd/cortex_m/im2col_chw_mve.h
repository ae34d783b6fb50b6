/* The window of a convolution whose channels lie in planes, gathered as one row of bytes: see im2col_mve.h. */
#ifndef EDGEKIT_IM2COL_CHW_MVE_H
#define EDGEKIT_IM2COL_CHW_MVE_H

#include "edgekit/simd/cortex_m/im2col_mve.h"

/* Writes where the cells of a window lie, in elements from its first one on. */
static EK_SHARED void ek_mve_planes_places(int8_t *places, int32_t step_c, const struct ek_mve_window *p)
{
    int32_t *to = (int32_t *)(void *)places;
    for (int32_t i = 0; i < p->rows; i++)
        for (int32_t j = 0; j < p->columns; j++)
            for (int32_t c = 0; c < p->depth; c++)
                *to++ = i * p->down + j * p->dilation_w * p->step_w + c * step_c;
}

/* Brings n cells, 0 and more, at these places of x into `to`. q0 has four places, then their cells. */
static inline void ek_mve_gather_bytes(int8_t *to, const int8_t *x, const int8_t *places, int32_t n)
{
    /* clang-format off */
    __asm volatile(
        "wlstp.32 lr, %[n], 2f\n"
        "1:\n"
            "vldrw.u32 q0, [%[places]], #16\n"
            "vldrb.u32 q1, [%[x], q0]\n"
            "vstrb.32 q1, [%[to]], #4\n"
            "letp lr, 1b\n"
        "2:\n"
        : [to] "+&l"(to), [places] "+&r"(places)
        : [x] "r"(x), [n] "r"(n)
        : "q0", "q1", "lr", "memory");
    /* clang-format on */
}

/* The window that starts at (top, left), of which cells are outside of x, row by row. */
static EK_SHARED void ek_mve_gather_planes(int8_t *to, const int8_t *x, int32_t top, int32_t left,
    const struct ek_mve_window *p, const int8_t *places)
{
    const int32_t step = p->dilation_w;
    /* Cells of a row in front of the image, and up to its end. */
    int32_t before = left < 0 ? (step - 1 - left) / step : 0;
    int32_t end = left < p->in_w ? (p->in_w - left + step - 1) / step : 0;
    before = (before < p->columns ? before : p->columns) * p->depth;
    end = (end < p->columns ? end : p->columns) * p->depth;
    x += top * p->step_h + left * p->step_w;
    for (int32_t i = p->rows; i > 0; i--, to += p->run, x += p->down, top += p->dilation_h) {
        const int is_inside = top >= 0 && top < p->in_h;
        ek_mve_fill(to, p->in_zero, is_inside ? before : p->run);
        if (is_inside) {
            ek_mve_gather_bytes(to + before, x, places + 4 * before, end - before);
            ek_mve_fill(to + end, p->in_zero, p->run - end);
        }
    }
}

/* Brings the window that starts at (top, left) into `to`. */
EK_INLINE void ek_mve_planes_window(int8_t *to, const int8_t *x, int32_t top, int32_t left,
    const struct ek_mve_window *p, const int8_t *places)
{
    if (ek_mve_is_inside(top, left, p))
        ek_mve_gather_bytes(to, x + top * p->step_h + left * p->step_w, places, p->rows * p->run);
    else
        ek_mve_gather_planes(to, x, top, left, p, places);
}

/* The last column at which a window is gathered as a whole. */
EK_INLINE int32_t ek_mve_planes_most_left(int32_t inside, int are_side_by_side)
{
    (void)are_side_by_side;
    return inside;
}

#endif
