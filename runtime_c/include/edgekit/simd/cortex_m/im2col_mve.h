/* The window of a convolution, gathered cell by cell, with padding, as one row of bytes. */
#ifndef EDGEKIT_IM2COL_MVE_H
#define EDGEKIT_IM2COL_MVE_H

#include "edgekit/simd/cortex_m/mve.h"
#include "edgekit/types.h"

/* The image and the window, as in the layer's parameters; depth are the channels of a group. */
struct ek_mve_window {
    int32_t most_top; /* windows that start up to there, at row 0 or below, are inside */
    int32_t most_left; /* the same of columns; -1 where cells of a row are not side by side */
    int32_t rows;
    int32_t run; /* bytes of a row of the window */
    int32_t down; /* elements of x from one row of the window to the next */
    int32_t step_h;
    int32_t step_w;
    int32_t in_h;
    int32_t in_w;
    int32_t depth;
    int32_t columns;
    int32_t dilation_h;
    int32_t dilation_w;
    int32_t in_zero;
};

/* Copies `rows` pieces of n bytes, `down` apart, one behind the other. q0 has sixteen of them, lr how many are left of
 * a piece; %[at] and %[end] are where they come from and go. */
static inline void ek_mve_copy_rows(int8_t *to, const int8_t *from, int32_t n, int32_t rows, int32_t down)
{
    const int8_t *at;
    int8_t *end;
    /* clang-format off */
    __asm volatile(
        "1:\n" /* a piece */
            "mov %[at], %[from]\n"
            "mov %[end], %[to]\n"
            "wlstp.8 lr, %[n], 3f\n"
            "2:\n" /* sixteen bytes of it */
                "vldrb.u8 q0, [%[at]], #16\n"
                "vstrb.8 q0, [%[end]], #16\n"
                "letp lr, 2b\n"
            "3:\n"
            "add %[from], %[down]\n"
            "add %[to], %[n]\n"
            "subs %[rows], #1\n"
            "bne 1b\n"
        : [to] "+&r"(to), [from] "+&r"(from), [rows] "+&r"(rows), [at] "=&r"(at), [end] "=&r"(end)
        : [n] "r"(n), [down] "r"(down)
        : "q0", "lr", "cc", "memory");
    /* clang-format on */
}

/* The same of pieces of at most sixteen bytes. */
static inline void ek_mve_copy_short_rows(
    int8_t *to, const int8_t *from, int32_t n, int32_t rows, int32_t down)
{
    /* clang-format off */
    __asm volatile(
        "vctp.8 %[n]\n"
        "dls lr, %[rows]\n"
        "1:\n"
            "vpstt\n"
            "vldrbt.u8 q0, [%[from]]\n"
            "vstrbt.8 q0, [%[to]]\n"
            "add %[from], %[down]\n"
            "add %[to], %[n]\n"
            "le lr, 1b\n"
        : [to] "+&r"(to), [from] "+&r"(from)
        : [n] "r"(n), [rows] "r"(rows), [down] "r"(down)
        : "q0", "lr", "memory");
    /* clang-format on */
}

/* Is all of a window inside of x, with cells of a row side by side? */
static inline int ek_mve_is_inside(int32_t top, int32_t left, const struct ek_mve_window *p)
{
    return top >= 0 && top <= p->most_top && left >= 0 && left <= p->most_left;
}

/* Brings a window that is inside of x, and starts at `from`, into `to`. */
static inline void ek_mve_copy_window(int8_t *to, const int8_t *from, const struct ek_mve_window *p)
{
    if (p->run <= 16)
        ek_mve_copy_short_rows(to, from, p->run, p->rows, p->down);
    else
        ek_mve_copy_rows(to, from, p->run, p->rows, p->down);
}

/* Brings the window that starts at (top, left), of which cells are outside of x, into `to`. */
static EK_SHARED void ek_mve_gather(
    int8_t *to, const int8_t *x, int32_t top, int32_t left, const struct ek_mve_window *p)
{
    const int8_t *line = x + top * p->step_h + left * p->step_w;
    const int whole = left >= 0 && left <= p->most_left;
    for (int32_t i = p->rows; i > 0; i--, to += p->run, line += p->down, top += p->dilation_h)
        if (top < 0 || top >= p->in_h)
            ek_mve_fill(to, p->in_zero, p->run);
        else if (whole)
            ek_mve_copy(to, line, p->run);
        else
            for (int32_t j = 0; j < p->columns; j++) {
                const int32_t column = left + j * p->dilation_w;
                if (column >= 0 && column < p->in_w)
                    ek_mve_copy(to + j * p->depth, line + j * p->dilation_w * p->step_w, p->depth);
                else
                    ek_mve_fill(to + j * p->depth, p->in_zero, p->depth);
            }
}

/* Brings the window that starts at (top, left) into `to`. */
EK_INLINE void ek_mve_cells_window(int8_t *to, const int8_t *x, int32_t top, int32_t left,
    const struct ek_mve_window *p, const int8_t *places)
{
    (void)places;
    if (ek_mve_is_inside(top, left, p))
        ek_mve_copy_window(to, x + top * p->step_h + left * p->step_w, p);
    else
        ek_mve_gather(to, x, top, left, p);
}

/* The last column at which a window is copied as a whole: it is inside, and cells of a row are side by side. */
EK_INLINE int32_t ek_mve_cells_most_left(int32_t inside, int are_side_by_side)
{
    return are_side_by_side ? inside : -1;
}

/* For kernels of images in planes, whose windows are gathered by places. */
EK_INLINE void ek_mve_cells_places(int8_t *places, int32_t step_c, const struct ek_mve_window *p)
{
    (void)places;
    (void)step_c;
    (void)p;
}

#endif
