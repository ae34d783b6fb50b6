/* The walk of a convolution over tiles of pixels, for any numbers: it knows which windows lie side by side in the image, and
 * gathers others first. Kernels give it functions for a tile, which take pointers and steps in numbers. */
#ifndef EDGEKIT_WINDOW_TILES_H
#define EDGEKIT_WINDOW_TILES_H

#include <stddef.h>

#include "edgekit/types.h"

/* All outputs of a group, of some pixels of y from number `at` on. Windows are `rows` runs of `length`, `row` apart; pixels are
 * `step` apart. */
typedef void ek_tile_fn(const void *layer, const void *x, int32_t step, int32_t row, int32_t rows,
    int32_t length, int32_t at, int32_t group, int32_t pixels);

/* An image, its windows, and what there is to copy numbers by. */
struct ek_tiled_windows {
    int32_t batch, in_h, in_w, in_c, step_h, step_w, step_c, out_h, out_w, out_c;
    int32_t k_h, k_w, stride_h, stride_w, pad_top, pad_left, dilation_h, dilation_w, groups;
    int32_t size; /* bytes of a number */
    int32_t together; /* pixels of a tile */
    int32_t room; /* from one gathered window to the next */
    int32_t unit; /* runs of windows that are read in place are multiples of this, if there are several */
    int32_t outside; /* what is outside of the image */
    void (*copy)(void *to, const void *from, int32_t count);
    void (*fill)(void *to, int32_t value, int32_t count);
};

/* One window of a group, its cells side by side. */
EK_INLINE void ek_gather_window(const uint8_t *EK_RESTRICT x, uint8_t *EK_RESTRICT to, const int32_t top,
    const int32_t left, const struct ek_tiled_windows *s)
{
    const int32_t depth = s->in_c / s->groups, bytes = depth * s->size;
    const int whole = s->groups == 1 && left >= 0 && left + (s->k_w - 1) * s->dilation_w < s->in_w;
    x += left * s->step_w * s->size;
    for (int32_t i = 0; i < s->k_h; i++, to += s->k_w * bytes) {
        const int32_t row = top + i * s->dilation_h;
        const uint8_t *from = x + row * s->step_h * s->size;
        if (row < 0 || row >= s->in_h)
            s->fill(to, s->outside, s->k_w * depth);
        else if (s->step_c == 1 && s->dilation_w == 1 && whole)
            s->copy(to, from, s->k_w * depth);
        else
            for (int32_t j = 0; j < s->k_w; j++, from += s->dilation_w * s->step_w * s->size) {
                const int32_t column = left + j * s->dilation_w;
                if (column < 0 || column >= s->in_w)
                    s->fill(to + j * bytes, s->outside, depth);
                else if (s->step_c == 1)
                    s->copy(to + j * bytes, from, depth);
                else
                    for (int32_t c = 0; c < depth; c++)
                        (void)__builtin_memcpy(
                            to + j * bytes + c * s->size, from + c * s->step_c * s->size, (size_t)s->size);
            }
    }
}

/* Some pixels from pixel `start` of row `first` on, which may be behind its end, of a group. */
EK_INLINE void ek_window_tile(const uint8_t *EK_RESTRICT x, uint8_t *EK_RESTRICT windows, const int32_t group,
    const int32_t first, const int32_t start, const int32_t at, const int32_t pixels,
    const struct ek_tiled_windows *s, ek_tile_fn *tile, const void *layer)
{
    const int32_t length = s->k_w * (s->in_c / s->groups), image = s->in_h * s->in_w * s->in_c;
    const int32_t down = s->out_w % s->together == 0 ? 0 : start / s->out_w, v = start - down * s->out_w;
    const int32_t line = first + down, n = line / s->out_h;
    const int32_t top = (line - n * s->out_h) * s->stride_h - s->pad_top;
    const int32_t left = v * s->stride_w - s->pad_left;
    const int inside = top >= 0 && top + (s->k_h - 1) * s->dilation_h < s->in_h && left >= 0
                       && v + pixels <= s->out_w && left + (pixels - 1) * s->stride_w + s->k_w <= s->in_w;
    const int straight = s->step_c == 1 && (s->k_w == 1 || (s->dilation_w == 1 && s->groups == 1))
                         && (s->k_h == 1 || length % s->unit == 0);
    if (straight && inside)
        tile(layer, x + (n * image + top * s->step_h + left * s->step_w) * s->size, s->stride_w * s->step_w,
            s->dilation_h * s->step_h, s->k_h, length, at, group, pixels);
    else {
        for (int32_t i = 0; i < pixels; i++) {
            const int32_t more = s->out_w % s->together == 0 ? 0 : (v + i) / s->out_w;
            const int32_t its_n = (line + more) / s->out_h;
            ek_gather_window(x + its_n * image * s->size, windows + i * s->room * s->size,
                (line + more - its_n * s->out_h) * s->stride_h - s->pad_top,
                (v + i - more * s->out_w) * s->stride_w - s->pad_left, s);
        }
        tile(layer, windows, s->room, 0, 1, s->k_h * length, at, group, pixels);
    }
}

/* Pixels from number `v` of a line on, of all groups. */
EK_INLINE void ek_groups_tile(const uint8_t *EK_RESTRICT x, uint8_t *EK_RESTRICT windows, const int32_t line,
    const int32_t v, const int32_t at, const int32_t pixels, const int flat, const struct ek_tiled_windows *s,
    ek_tile_fn *tile, const void *layer)
{
    const int32_t depth = s->in_c / s->groups;
    for (int32_t g = 0; g < s->groups; g++)
        if (flat)
            tile(layer, x + (v * s->in_c + g * depth) * s->size, s->in_c, 0, 1, depth, at, g, pixels);
        else
            ek_window_tile(
                x + g * depth * s->step_c * s->size, windows, g, line, v, at, pixels, s, tile, layer);
}

/* All pixels: in tiles, the last of which may compute some twice, and one by one. */
EK_INLINE void ek_each_tile(
    const void *x, void *windows, const struct ek_tiled_windows *s, ek_tile_fn *tile, const void *layer)
{
    /* Windows of one cell that lie side by side in x: a row of numbers for each pixel. */
    const int flat = s->k_h == 1 && s->k_w == 1 && s->stride_h == 1 && s->stride_w == 1 && s->step_c == 1
                     && s->out_h == s->in_h && s->out_w == s->in_w;
    /* Rows that no tiles fill follow each other as one. */
    const int joined = flat || s->out_w % s->together != 0;
    const int32_t lines = joined ? 1 : s->batch * s->out_h;
    const int32_t width = joined ? s->batch * s->out_h * s->out_w : s->out_w, together = s->together;
    const int whole = width % together == 0; /* then compilers count tiles */
    const uint8_t *const from = (const uint8_t *)x;
    uint8_t *const room = (uint8_t *)windows;
    for (int32_t line = 0, at = 0; line < lines; line++, at += width * s->out_c) {
        int32_t v = 0;
        for (; whole ? v < width : v + together / 2 < width && width >= together; v += together) {
            if (!whole && v + together > width)
                v = width - together;
            ek_groups_tile(from, room, line, v, at + v * s->out_c, together, flat, s, tile, layer);
        }
        for (int32_t rest = width - v; rest > 0; rest--, v++)
            ek_groups_tile(from, room, line, v, at + v * s->out_c, 1, flat, s, tile, layer);
    }
}

#endif
