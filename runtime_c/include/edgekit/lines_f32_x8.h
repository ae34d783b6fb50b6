/* Sums of products of floats for AVX2: lines of pixels that are the same distance apart, up to 24 outputs each. The
 * sums of a block of pixels stay in registers. Weights are tiled O/8! (window) o8. */
#ifndef EDGEKIT_LINES_F32_X8_H
#define EDGEKIT_LINES_F32_X8_H

#include <immintrin.h>

#include "edgekit/types.h"

/* A window: `rows` times `columns` runs of x, `depth` elements each. */
struct ek_window_f32_x8 {
    int32_t rows;
    int32_t columns;
    int32_t depth;
    int32_t row_step; /* elements of x */
    int32_t column_step;
    int32_t depth_step;
    int32_t row_weights; /* elements of w from one row to the next; runs of a row follow one another */
    int32_t block_weights; /* ... from one block of 8 outputs to the next */
    int32_t outputs; /* of all blocks of a pixel, 8 (blocks - 1) < outputs <= 8 blocks */
    float lo;
    float hi;
};

/* How many lanes of a block hold outputs. */
EK_INLINE int32_t ek_lanes_f32_x8(const int32_t block, const int32_t blocks, const int32_t outputs)
{
    return block + 1 < blocks ? 8 : outputs - 8 * (blocks - 1);
}

/* Ones in the first `lanes` of eight. */
EK_INLINE __m256i ek_mask_x8(const int32_t lanes)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* The first `lanes` of eight numbers, then zeros. */
EK_INLINE __m256 ek_load_f32_x8(const float *x, const int32_t lanes)
{
    return lanes == 8 ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, ek_mask_x8(lanes));
}

/* Stores the first `lanes` of eight numbers. */
EK_INLINE void ek_store_f32_x8(float *y, const int32_t lanes, const __m256 v)
{
    if (lanes == 8)
        _mm256_storeu_ps(y, v);
    else
        _mm256_maskstore_ps(y, ek_mask_x8(lanes), v);
}

/* `pixels` times `blocks` sums, at most 12. */
EK_INLINE void ek_block_f32_x8(const float *x, const float *w, const float *b, float *y, const int32_t x_step,
    const int32_t y_step, const int32_t pixels, const int32_t blocks, const struct ek_window_f32_x8 *s)
{
    __m256 sum[12][3];
#pragma GCC unroll 3
    for (int32_t o = 0; o < blocks; o++) {
        const __m256 bias = ek_load_f32_x8(b + 8 * o, ek_lanes_f32_x8(o, blocks, s->outputs));
#pragma GCC unroll 12
        for (int32_t q = 0; q < pixels; q++)
            sum[q][o] = bias;
    }
    for (int32_t i = 0; i < s->rows; i++) {
        const float *weights = w + i * s->row_weights;
        for (int32_t j = 0; j < s->columns; j++) {
            const float *from = x + i * s->row_step + j * s->column_step;
            for (int32_t c = 0; c < s->depth; c++, from += s->depth_step, weights += 8) {
                __m256 v[3];
#pragma GCC unroll 3
                for (int32_t o = 0; o < blocks; o++)
                    v[o] = _mm256_loadu_ps(weights + o * s->block_weights);
#pragma GCC unroll 12
                for (int32_t q = 0; q < pixels; q++) {
                    const __m256 t = _mm256_set1_ps(from[q * x_step]);
#pragma GCC unroll 3
                    for (int32_t o = 0; o < blocks; o++)
                        sum[q][o] = _mm256_fmadd_ps(t, v[o], sum[q][o]);
                }
            }
        }
    }
    const __m256 lo = _mm256_set1_ps(s->lo), hi = _mm256_set1_ps(s->hi);
#pragma GCC unroll 12
    for (int32_t q = 0; q < pixels; q++)
#pragma GCC unroll 3
        for (int32_t o = 0; o < blocks; o++)
            ek_store_f32_x8(y + q * y_step + 8 * o, ek_lanes_f32_x8(o, blocks, s->outputs),
                _mm256_min_ps(hi, _mm256_max_ps(lo, sum[q][o])));
}

/* A line of `length` pixels, `blocks` known to the compiler. Blocks of pixels are alike; the last ones may overlap. */
EK_INLINE void ek_line_f32_x8(const float *x, const float *w, const float *b, float *y, const int32_t x_step,
    const int32_t y_step, const int32_t length, const int32_t blocks, const struct ek_window_f32_x8 *s)
{
    const int32_t most = blocks == 1 ? 10 : blocks == 2 ? 6 : 4;
    const int32_t count = (length + most - 1) / most;
    const int32_t wanted = count > 0 ? (length + count - 1) / count : 0;
#define EK_BLOCKS_X8(n)                                                                                      \
    for (int32_t k = 0; k < length; k += (n)) {                                                              \
        const int32_t at = k + (n) <= length ? k : length - (n);                                             \
        ek_block_f32_x8(x + at * x_step, w, b, y + at * y_step, x_step, y_step, (n), blocks, s);             \
    }
    if (wanted > 8 && blocks == 1 && length >= 10)
        EK_BLOCKS_X8(10)
    else if (wanted > 6 && blocks == 1 && length >= 8)
        EK_BLOCKS_X8(8)
    else if (wanted > 5 && blocks <= 2 && length >= 6)
        EK_BLOCKS_X8(6)
    else if (wanted > 4 && blocks <= 2 && length >= 5)
        EK_BLOCKS_X8(5)
    else if (wanted > 3 && length >= 4)
        EK_BLOCKS_X8(4)
    else if (wanted > 2 && length >= 3)
        EK_BLOCKS_X8(3)
    else if (wanted > 1 && length >= 2)
        EK_BLOCKS_X8(2)
    else
        EK_BLOCKS_X8(1)
#undef EK_BLOCKS_X8
}

/* A line of `length` pixels, all outputs from `first` to first + outputs - 1, at most 24. */
EK_INLINE void ek_lines_f32_x8(const float *x, const float *w, const float *b, float *y, const int32_t x_step,
    const int32_t y_step, const int32_t length, const struct ek_window_f32_x8 *s)
{
    if (s->outputs > 16)
        ek_line_f32_x8(x, w, b, y, x_step, y_step, length, 3, s);
    else if (s->outputs > 8)
        ek_line_f32_x8(x, w, b, y, x_step, y_step, length, 2, s);
    else
        ek_line_f32_x8(x, w, b, y, x_step, y_step, length, 1, s);
}

/* How many of `outputs` to take at a time, a multiple of 8: all parts alike. */
EK_INLINE int32_t ek_part_f32_x8(const int32_t outputs)
{
    const int32_t blocks = (outputs + 7) / 8, parts = (blocks + 2) / 3;
    return (blocks + parts - 1) / parts * 8;
}

/* A convolution as conv2d.h describes it: an image, of which windows read `depth` channels. */
struct ek_image_x8 {
    int32_t in_h;
    int32_t in_w;
    int32_t depth;
    int32_t step_h;
    int32_t step_w;
    int32_t step_c;
    int32_t out_h;
    int32_t out_w;
    int32_t out_c;
    int32_t k_h;
    int32_t k_w;
    int32_t stride_h;
    int32_t stride_w;
    int32_t pad_top;
    int32_t pad_left;
    int32_t dilation_h;
    int32_t dilation_w;
    float lo;
    float hi;
};

/* The first and the last tap but one of a window of `taps` at `start` that are inside of `cells`. */
EK_INLINE int32_t ek_first_tap_x8(const int32_t start, const int32_t dilation)
{
    return start < 0 ? (-start + dilation - 1) / dilation : 0;
}
EK_INLINE int32_t ek_end_tap_x8(
    const int32_t start, const int32_t dilation, const int32_t taps, const int32_t cells)
{
    const int32_t end = (cells - start + dilation - 1) / dilation;
    return end < 0 ? 0 : end < taps ? end : taps;
}

/* `length` pixels from (h, v) on, one above the other or side by side, for `outputs` outputs. */
EK_INLINE void ek_image_line_f32_x8(const float *x, const float *w, const float *b, float *y, const int32_t h,
    const int32_t v, const int32_t length, const int32_t is_column, const int32_t outputs,
    const struct ek_image_x8 *p)
{
    const int32_t depth = p->depth, top = h * p->stride_h - p->pad_top;
    const int32_t left = v * p->stride_w - p->pad_left;
    const int32_t i = ek_first_tap_x8(top, p->dilation_h), j = ek_first_tap_x8(left, p->dilation_w);
    const int32_t rows = ek_end_tap_x8(top, p->dilation_h, p->k_h, p->in_h) - i;
    const int32_t columns = ek_end_tap_x8(left, p->dilation_w, p->k_w, p->in_w) - j;
    const int32_t is_run = p->step_c == 1 && p->step_w == depth && p->dilation_w == 1;
    const struct ek_window_f32_x8 s = {rows < 0 || columns < 0 ? 0 : rows, is_run ? 1 : columns,
        is_run ? columns * depth : depth, p->dilation_h * p->step_h, p->dilation_w * p->step_w, p->step_c,
        p->k_w * depth * 8, p->k_h * p->k_w * depth * 8, outputs, p->lo, p->hi};
    ek_lines_f32_x8(x + (top + i * p->dilation_h) * p->step_h + (left + j * p->dilation_w) * p->step_w,
        w + (i * p->k_w + j) * depth * 8, b, y + (h * p->out_w + v) * p->out_c,
        is_column ? p->stride_h * p->step_h : p->stride_w * p->step_w,
        is_column ? p->out_w * p->out_c : p->out_c, length, &s);
}

/* All pixels of an image, for `outputs` outputs. */
EK_INLINE void ek_image_f32_x8(const float *x, const float *w, const float *b, float *y,
    const int32_t outputs, const struct ek_image_x8 *p)
{
    const int32_t reach_h = (p->k_h - 1) * p->dilation_h + 1, reach_w = (p->k_w - 1) * p->dilation_w + 1;
    /* Pixels from (top, left) to (bottom, right) have all of their windows inside. */
    const int32_t top = (p->pad_top + p->stride_h - 1) / p->stride_h;
    const int32_t left = (p->pad_left + p->stride_w - 1) / p->stride_w;
    const int32_t fit_h = p->in_h + p->pad_top - reach_h, fit_w = p->in_w + p->pad_left - reach_w;
    const int32_t most_h = fit_h < 0 ? 0 : fit_h / p->stride_h + 1,
                  most_w = fit_w < 0 ? 0 : fit_w / p->stride_w + 1;
    const int32_t bottom = most_h < p->out_h ? most_h : p->out_h,
                  right = most_w < p->out_w ? most_w : p->out_w;
    if (top == 0 && left == 0 && bottom == p->out_h && right == p->out_w
        && p->out_w * p->stride_w * p->step_w == p->stride_h * p->step_h) {
        ek_image_line_f32_x8(x, w, b, y, 0, 0, p->out_h * p->out_w, 0, outputs, p);
        return;
    }
    for (int32_t h = 0; h < p->out_h; h++) {
        const int32_t is_inside = h >= top && h < bottom;
        if (left < right)
            ek_image_line_f32_x8(x, w, b, y, h, left, right - left, 0, outputs, p);
        for (int32_t v = 0; v < p->out_w; v++) {
            if (v == left && left < right)
                v = right;
            if (v < p->out_w && (!is_inside || top >= bottom))
                ek_image_line_f32_x8(x, w, b, y, h, v, 1, 0, outputs, p);
        }
    }
    if (top < bottom)
        for (int32_t v = 0; v < p->out_w; v++) {
            if (v == left && left < right)
                v = right;
            if (v < p->out_w)
                ek_image_line_f32_x8(x, w, b, y, top, v, bottom - top, 1, outputs, p);
        }
}

/* All pixels of an image, for any number of outputs. */
EK_INLINE void ek_images_f32_x8(const float *x, const float *w, const float *b, float *y,
    const int32_t outputs, const struct ek_image_x8 *p)
{
    const int32_t cells = p->k_h * p->k_w * p->depth, part = ek_part_f32_x8(outputs),
                  whole = outputs / part * part;
    for (int32_t o = 0; o < whole; o += part)
        ek_image_f32_x8(x, w + o * cells, b + o, y + o, part, p);
    if (whole < outputs)
        ek_image_f32_x8(x, w + whole * cells, b + whole, y + whole, outputs - whole, p);
}

#endif
