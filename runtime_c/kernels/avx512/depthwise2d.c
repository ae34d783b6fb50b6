/* Depthwise convolution: see depthwise2d.h. Sixteen channels and up to eight pixels of a row or a column advance
 * together; what a window has outside of x is left out.
 * for T=f32 W=f32 B=f32
 * when in_c == out_c
 * pack w: H W O I */
#include <immintrin.h>

#include "edgekit/depthwise2d.h"

/* What is left of a window: taps from (i0, j0) to (i1, j1). */
struct EK_FN_taps {
    int32_t i0;
    int32_t i1;
    int32_t j0;
    int32_t j1;
};

/* Sixteen channels, those in `lanes`, of `pixels` pixels. */
EK_INLINE void EK_FN_pixels(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, const __mmask16 lanes,
    const int32_t pixels, const int32_t x_step, const int32_t y_step, const struct EK_FN_taps t,
    const struct EK_STRUCT *p)
{
    __m512 sum[8];
    const __m512 bias = _mm512_maskz_loadu_ps(lanes, b);
#pragma GCC unroll 8
    for (int32_t q = 0; q < pixels; q++)
        sum[q] = bias;
    for (int32_t i = t.i0; i < t.i1; i++)
        for (int32_t j = t.j0; j < t.j1; j++) {
            const __m512 v = _mm512_maskz_loadu_ps(lanes, w + (i * p->k_w + j) * p->out_c);
            const EK_T *from = x + (i * p->dilation_h * p->in_w + j * p->dilation_w) * p->in_c;
#pragma GCC unroll 8
            for (int32_t q = 0; q < pixels; q++)
                sum[q] = _mm512_fmadd_ps(v, _mm512_maskz_loadu_ps(lanes, from + q * x_step), sum[q]);
        }
    const __m512 lo = _mm512_set1_ps(p->lo), hi = _mm512_set1_ps(p->hi);
#pragma GCC unroll 8
    for (int32_t q = 0; q < pixels; q++)
        _mm512_mask_storeu_ps(y + q * y_step, lanes, _mm512_min_ps(hi, _mm512_max_ps(lo, sum[q])));
}

/* All channels of a line of pixels from (h, v) on: below each other, or side by side. The last ones may overlap. */
EK_INLINE void EK_FN_line(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const int32_t h, const int32_t v, const int32_t length, const int32_t is_column,
    const struct EK_STRUCT *p)
{
    const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
    const int32_t below = p->in_h - top + p->dilation_h - 1, beside = p->in_w - left + p->dilation_w - 1;
    const int32_t i1 = below < 0 ? 0 : below / p->dilation_h, j1 = beside < 0 ? 0 : beside / p->dilation_w;
    const struct EK_FN_taps taps = {top < 0 ? (-top + p->dilation_h - 1) / p->dilation_h : 0,
        i1 < p->k_h ? i1 : p->k_h, left < 0 ? (-left + p->dilation_w - 1) / p->dilation_w : 0,
        j1 < p->k_w ? j1 : p->k_w};
    const int32_t x_step = (is_column ? p->stride_h * p->in_w : p->stride_w) * p->in_c;
    const int32_t y_step = (is_column ? p->out_w : 1) * p->out_c;
    const EK_T *from = x + (top * p->in_w + left) * p->in_c;
    EK_T *to = y + (h * p->out_w + v) * p->out_c;
    for (int32_t o = 0; o < p->out_c; o += 16) {
        const int32_t rest = p->out_c - o;
        const __mmask16 lanes = (__mmask16)(rest < 16 ? (1 << rest) - 1 : 0xFFFF);
#define EK_PIXELS(n)                                                                                         \
    for (int32_t k = 0; k < length; k += (n)) {                                                              \
        const int32_t at = k + (n) <= length ? k : length - (n);                                             \
        EK_FN_pixels(from + at * x_step + o, w + o, b + o, to + at * y_step + o, lanes, (n), x_step, y_step, \
            taps, p);                                                                                        \
    }
        if (length >= 8)
            EK_PIXELS(8)
        else if (length >= 4)
            EK_PIXELS(4)
        else if (length >= 2)
            EK_PIXELS(2)
        else
            EK_PIXELS(1)
#undef EK_PIXELS
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    /* Pixels from (top, left) to (bottom, right) have all of their windows inside. */
    const int32_t top = (p->pad_top + p->stride_h - 1) / p->stride_h;
    const int32_t left = (p->pad_left + p->stride_w - 1) / p->stride_w;
    const int32_t fit_h = p->in_h + p->pad_top - (p->k_h - 1) * p->dilation_h - 1;
    const int32_t fit_w = p->in_w + p->pad_left - (p->k_w - 1) * p->dilation_w - 1;
    const int32_t most_h = fit_h < 0 ? 0 : fit_h / p->stride_h + 1,
                  most_w = fit_w < 0 ? 0 : fit_w / p->stride_w + 1;
    const int32_t bottom = most_h < p->out_h ? most_h : p->out_h,
                  right = most_w < p->out_w ? most_w : p->out_w;
    /* Rows of the inside are taken as lines, or columns where these are longer and rows are short. */
    const int32_t is_narrow = right - left < 8 && right - left < bottom - top;
    for (int32_t n = 0; n < p->batch;
        n++, x += p->in_h * p->in_w * p->in_c, y += p->out_h * p->out_w * p->out_c) {
        for (int32_t h = 0; h < p->out_h; h++) {
            const int32_t is_inside = h >= top && h < bottom;
            if (left < right && !(is_inside && is_narrow))
                EK_FN_line(x, w, b, y, h, left, right - left, 0, p);
            for (int32_t v = is_inside ? p->out_w : 0; v < p->out_w; v++)
                if (v < left || v >= right)
                    EK_FN_line(x, w, b, y, h, v, 1, 0, p);
        }
        for (int32_t v = top < bottom ? 0 : p->out_w; v < p->out_w; v++)
            if (v < left || v >= right || is_narrow)
                EK_FN_line(x, w, b, y, top, v, bottom - top, 1, p);
    }
}
