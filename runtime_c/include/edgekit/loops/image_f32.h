/* Convolutions of floats: images as lines of pixels whose windows are cut alike. See pixel_rows_f32.h. */
#ifndef EDGEKIT_IMAGE_F32_H
#define EDGEKIT_IMAGE_F32_H

#include "edgekit/loops/pixel_rows_f32.h"
#include "edgekit/loops/taps.h"

/* A convolution with the fields of a layer's parameters: an image, of which windows read `depth` channels. */
struct ek_image_f32 {
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
    int32_t kind; /* of weights */
    float lo;
    float hi;
};

/* `length` pixels from (h, v) on, one above the other or side by side, for `outputs` outputs. */
EK_INLINE void ek_image_line_f32(const float *x, const uint8_t *w, const float *b, const float *r, float *y,
    const int32_t h, const int32_t v, const int32_t length, const int32_t is_column, const int32_t outputs,
    const struct ek_image_f32 *p)
{
    const int32_t depth = p->depth, top = h * p->stride_h - p->pad_top;
    const int32_t left = v * p->stride_w - p->pad_left;
    const int32_t i = ek_first_tap(top, p->dilation_h), j = ek_first_tap(left, p->dilation_w);
    const int32_t rows = ek_end_tap(top, p->dilation_h, p->k_h, p->in_h) - i;
    const int32_t columns = ek_end_tap(left, p->dilation_w, p->k_w, p->in_w) - j;
    const int32_t is_run = p->step_c == 1 && p->step_w == depth && p->dilation_w == 1;
    const int32_t at = (h * p->out_w + v) * p->out_c,
                  width = (outputs + EK_VF_LANES - 1) / EK_VF_LANES * EK_VF_LANES;
    const struct ek_window_f32 s = {rows < 0 || columns < 0 ? 0 : rows, is_run ? 1 : columns,
        is_run ? columns * depth : depth, p->dilation_h * p->step_h, p->dilation_w * p->step_w, p->step_c,
        p->k_w * depth, width, EK_VF_LANES, 0, outputs, p->kind, p->lo, p->hi};
    ek_line_f32(x + (top + i * p->dilation_h) * p->step_h + (left + j * p->dilation_w) * p->step_w,
        w + (i * p->k_w + j) * depth * width * ek_weight_bytes(p->kind), b, ek_addend_f32(r, at, p->kind),
        y + at, is_column ? p->stride_h * p->step_h : p->stride_w * p->step_w,
        is_column ? p->out_w * p->out_c : p->out_c, length, &s);
}

/* All pixels of an image, for `outputs` outputs. What is called once here, compilers read once. */
EK_INLINE void ek_image_part_f32(const float *x, const uint8_t *w, const float *b, const float *r, float *y,
    const int32_t outputs, const struct ek_image_f32 *p)
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
    /* All pixels are one line; or where rows are short and columns long, columns are the lines. */
    const int32_t is_line = top == 0 && left == 0 && bottom == p->out_h && right == p->out_w
                            && p->out_w * p->stride_w * p->step_w == p->stride_h * p->step_h;
    const int32_t is_tall = !is_line && right - left < 6 && bottom - top >= 6;
    const int32_t rows = is_line ? 1 : p->out_h, length = is_line ? p->out_h * p->out_w : right - left;
    for (int32_t h = 0; h < rows; h++) {
        const int32_t is_inside = h >= top && h < bottom;
        if (length > 0 && !(is_inside && is_tall))
            ek_image_line_f32(x, w, b, r, y, h, left, length, 0, outputs, p);
        for (int32_t v = 0; v < p->out_w; v++) {
            if (v == left && left < right)
                v = right;
            if (v < p->out_w && !is_inside)
                ek_image_line_f32(x, w, b, r, y, h, v, 1, 0, outputs, p);
        }
    }
    if (top < bottom)
        for (int32_t v = 0; v < p->out_w; v++) {
            if (v == left && left < right && !is_tall)
                v = right;
            if (v < p->out_w)
                ek_image_line_f32(x, w, b, r, y, top, v, bottom - top, 1, outputs, p);
        }
}

/* All pixels of an image, for any number of outputs, of which `part` are computed together. */
EK_INLINE void ek_image_f32(const float *x, const void *w, const float *b, const float *r, float *y,
    const int32_t outputs, const int32_t part, const struct ek_image_f32 *p)
{
    const int32_t tap = p->k_h * p->k_w * p->depth * ek_weight_bytes(p->kind), whole = outputs / part * part;
    const uint8_t *weights = (const uint8_t *)w;
    for (int32_t o = 0; o < whole; o += part)
        ek_image_part_f32(x, weights + o * tap, b + o, r ? r + o : 0, y + o, part, p);
    if (whole < outputs)
        ek_image_part_f32(
            x, weights + whole * tap, b + whole, r ? r + whole : 0, y + whole, outputs - whole, p);
}

#endif
