/* Depthwise convolution: see depthwise2d.h. A vector of channels and up to eight pixels of a row advance together;
 * what a window has outside of x is left out. Pixels at both ends of a row are apart: which of their cells are
 * outside, compilers know.
 * for T=f32 W=f32 B=f32
 * when in_c == out_c
 * pack w: O/8! H W I o8 */
#include "edgekit/depthwise2d.h"
#include "edgekit/image_f32.h"

/* Adds the products of a row of windows, x being at column left + pad_left; unless `is_cut`, all are inside. */
EK_INLINE void EK_FN_taps(ek_vf sum[8], const EK_T *x, const EK_W *w, const int32_t lanes, const int32_t left,
    const int32_t pixels, const int32_t is_cut, const struct EK_STRUCT *p)
{
#pragma GCC unroll 8
    for (int32_t j = 0; j < p->k_w; j++) {
        const ek_vf weight = ek_vf_weights(w, j * EK_VF_LANES, EK_F32_KIND);
#pragma GCC unroll 8
        for (int32_t q = 0; q < pixels; q++) {
            const int32_t step = q * p->stride_w + j * p->dilation_w;
            if (!is_cut || (left + step >= 0 && left + step < p->in_w))
                sum[q] = ek_vf_fma(weight, ek_vf_load(x + (step - p->pad_left) * p->in_c, lanes), sum[q]);
        }
    }
}

/* The channels in `lanes` of `pixels` pixels from (h, v) on. */
EK_INLINE void EK_FN_pixels(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, const int32_t lanes,
    const int32_t h, const int32_t v, const int32_t pixels, const int32_t is_cut, const struct EK_STRUCT *p)
{
    const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
    const int32_t first = ek_first_tap(top, p->dilation_h);
    const int32_t last = ek_end_tap(top, p->dilation_h, p->k_h, p->in_h), line = p->k_w * EK_VF_LANES;
    const int32_t row = p->dilation_h * p->in_w * p->in_c;
    const EK_T *from = x + ((top + first * p->dilation_h) * p->in_w + v * p->stride_w) * p->in_c;
    ek_vf sum[8];
    const ek_vf bias = ek_vf_load(b, lanes);
#pragma GCC unroll 8
    for (int32_t q = 0; q < pixels; q++)
        sum[q] = bias;
    if (last - first == p->k_h && pixels < 6) { /* few sums wait for each other: rows side by side */
#pragma GCC unroll 3
        for (int32_t i = 0; i < p->k_h; i++)
            EK_FN_taps(sum, from + i * row, w + i * line, lanes, left, pixels, is_cut, p);
    } else {
        for (int32_t i = first; i < last; i++)
            EK_FN_taps(sum, from + (i - first) * row, w + i * line, lanes, left, pixels, is_cut, p);
    }
#pragma GCC unroll 8
    for (int32_t q = 0; q < pixels; q++)
        ek_vf_store(y + (h * p->out_w + v + q) * p->out_c, lanes, ek_vf_clamp(sum[q], p->lo, p->hi));
}

/* The channels in `lanes` of a row, `pixels` at a time, at most as many as it has: the last ones may overlap. */
EK_INLINE void EK_FN_row(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, const int32_t lanes,
    const int32_t h, const int32_t pixels, const struct EK_STRUCT *p)
{
    const int32_t last = p->out_w - pixels, reach = (p->k_w - 1) * p->dilation_w;
    const int32_t is_cut = pixels * p->stride_w < p->pad_left
                           || (last - 1 + pixels - 1) * p->stride_w - p->pad_left + reach >= p->in_w;
    EK_FN_pixels(x, w, b, y, lanes, h, 0, pixels, 1, p);
    for (int32_t v = pixels; v < last; v += pixels)
        EK_FN_pixels(x, w, b, y, lanes, h, v, pixels, is_cut, p);
    if (last > 0)
        EK_FN_pixels(x, w, b, y, lanes, h, last, pixels, 1, p);
}

/* The channels in `lanes` of rows from `h` to end - 1. */
EK_INLINE void EK_FN_rows(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, const int32_t lanes,
    int32_t h, const int32_t end, const struct EK_STRUCT *p)
{
    const int32_t parts = (p->out_w + 7) / 8, wanted = (p->out_w + parts - 1) / parts;
    for (; h < end; h++) {
        if (wanted == 8)
            EK_FN_row(x, w, b, y, lanes, h, 8, p);
        else if (wanted == 7)
            EK_FN_row(x, w, b, y, lanes, h, 7, p);
        else if (wanted == 6)
            EK_FN_row(x, w, b, y, lanes, h, 6, p);
        else if (wanted == 5)
            EK_FN_row(x, w, b, y, lanes, h, 5, p);
        else if (wanted == 4)
            EK_FN_row(x, w, b, y, lanes, h, 4, p);
        else if (wanted == 3)
            EK_FN_row(x, w, b, y, lanes, h, 3, p);
        else if (wanted == 2)
            EK_FN_row(x, w, b, y, lanes, h, 2, p);
        else
            EK_FN_row(x, w, b, y, lanes, h, 1, p);
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    /* Rows that stay in a cache while all channels are computed one vector after the other. */
    const int32_t room = 24576 / (p->in_w * p->in_c * p->stride_h) - p->k_h, band = room < 1 ? 1 : room;
    const int32_t taps = p->k_h * p->k_w, whole = p->out_c / EK_VF_LANES * EK_VF_LANES;
    for (int32_t n = 0; n < p->batch;
        n++, x += p->in_h * p->in_w * p->in_c, y += p->out_h * p->out_w * p->out_c)
        for (int32_t h = 0; h < p->out_h; h += band) {
            const int32_t end = h + band < p->out_h ? h + band : p->out_h;
            for (int32_t o = 0; o < whole; o += 2 * EK_VF_LANES)
                for (int32_t row = h; row < end; row++)
                    for (int32_t k = o; k < o + 2 * EK_VF_LANES && k < whole; k += EK_VF_LANES)
                        EK_FN_rows(x + k, w + k * taps, b + k, y + k, EK_VF_LANES, row, row + 1, p);
            if (whole < p->out_c)
                EK_FN_rows(x + whole, w + whole * taps, b + whole, y + whole, p->out_c - whole, h, end, p);
        }
}
