/* Convolution to at most half a vector of outputs. Two neighbours of a run meet their weights at once, the first in
 * even lanes and the second in odd ones, whose sums are added in the end. A row of a window is one run.
 * @for T=f32 W=f32 B=f32
 * @when groups == 1 and step_c == 1 and step_w == in_c and dilation_w == 1 and out_c <= 4
 * @pack w: H WI/2! O/4! o4 wi2
 * @count flat: k_h * k_w * stride_h * stride_w == 1 and out_h * out_w == in_h * in_w and step_h == in_w * in_c
 * @count corners: (out_h - whole_h) * (out_w - whole_w)
 * @count tiles: batch * (-(-out_h * out_w // 12) if flat
 * @count tiles: else corners + out_h * -(-whole_w // 12) + (out_w - whole_w) * -(-whole_h // 12))
 * @count rows: tiles * k_h
 * @count weight vectors: tiles * taps_h * taps_w * in_c // (2 * out_h * out_w)
 * @count product vectors: batch * taps_h * (taps_w * in_c + 1) // 2
 * @work positions 3.03, product vectors 2.3, rows 19.6, weight vectors 1.93 */
/* Convolution to at most half a vector of outputs with weights of 16 bits.
 * @as avx2/conv2d.oc4_bf16 W=bf16 f32=bf16 @work positions 1.48, product vectors 2.85, weight vectors 1.91
 * @as avx2/conv2d.oc4_f16 W=f16 f32=f16
 * @work positions 2.08, product vectors 2.58, rows 4.72, weight vectors 1.6
 * @as avx512/conv2d.oc8_bf16 W=bf16 f32=bf16 @without when out_c <= 4 @when out_c <= 8
 * @pack w: H WI/2! O/8! o8 wi2 @work positions 0.15, product vectors 2.52, weight vectors 2.81
 * @as avx512/conv2d.oc8_f16 W=f16 f32=f16 like avx512/conv2d.oc8_bf16
 * @work product vectors 2.75, rows 1.19, weight vectors 1.22 */
/* Convolution to at most half a vector of outputs with AVX-512.
 * @as avx512/conv2d.oc8 @without when out_c <= 4 @when out_c <= 8 @pack w: H WI/2! O/8! o8 wi2
 * @work positions 0.831, product vectors 2.66, rows 22.5, weight vectors 0.973 */
#include "edgekit/contracts/conv2d.h"
#include "edgekit/loops/image_f32.h"

/* A line of pixels, all of whose windows have columns from `j` to end - 1 inside. */
struct EK_FN_line {
    int32_t x_step; /* elements from one pixel to the next */
    int32_t y_step;
    int32_t j;
    int32_t end;
};

/* Adds the products of two neighbours. */
EK_INLINE void EK_FN_pair(
    ek_vf sum[12], const EK_T *x, const EK_W *w, const int32_t step, const int32_t pixels)
{
    const ek_vf weights = ek_vf_weights(w, 0, EK_F32_KIND);
    EK_UNROLLED_FOR(12, int32_t q = 0; q < pixels; q++)
        sum[q] = ek_vf_fma(weights, ek_vf_pair(x + q * step), sum[q]);
}

/* Adds the products of elements from `first` to end - 1 of a row of `pixels` windows, which are `step` elements apart. */
EK_INLINE void EK_FN_run(ek_vf sum[12], const EK_T *x, const EK_W *w, int32_t first, const int32_t end,
    const int32_t step, const int32_t pixels)
{
    if (first >= end)
        return;
    if (first & 1) {
        const ek_vf weights = ek_vf_weights(w, first / 2 * EK_VF_LANES, EK_F32_KIND);
        EK_UNROLLED_FOR(12, int32_t q = 0; q < pixels; q++)
            sum[q] = ek_vf_fma(weights, ek_vf_odd(x[q * step + first]), sum[q]);
        first++;
    }
    int32_t pair = first / 2;
    if (pixels < 4) /* few sums: what a loop takes besides counts */
        EK_UNROLLED_FOR(4, ; pair < end / 2; pair++)
            EK_FN_pair(sum, x + 2 * pair, w + pair * EK_VF_LANES, step, pixels);
    else
        for (; pair < end / 2; pair++)
            EK_FN_pair(sum, x + 2 * pair, w + pair * EK_VF_LANES, step, pixels);
    if (2 * pair < end) {
        const ek_vf weights = ek_vf_weights(w, pair * EK_VF_LANES, EK_F32_KIND);
        EK_UNROLLED_FOR(12, int32_t q = 0; q < pixels; q++)
            sum[q] = ek_vf_fma(weights, ek_vf_even(x[q * step + 2 * pair]), sum[q]);
    }
}

/* `pixels` pixels of a line from (h, v) on. */
EK_INLINE void EK_FN_pixels(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, const int32_t h,
    const int32_t v, const int32_t pixels, const struct EK_FN_line *line, const struct EK_STRUCT *p)
{
    const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
    const int32_t last = ek_end_tap(top, p->dilation_h, p->k_h, p->in_h);
    const int32_t row = (p->k_w * p->in_c + 1) / 2 * EK_VF_LANES;
    ek_vf sum[14];
    EK_UNROLLED_FOR(14, int32_t q = 0; q < 14; q++) /* two more: gcc may lose sight of how many */
        sum[q] = ek_vf_set(0);
    for (int32_t i = ek_first_tap(top, p->dilation_h); i < last; i++)
        EK_FN_run(sum, x + (top + i * p->dilation_h) * p->step_h + left * p->in_c, w + i * row,
            line->j * p->in_c, line->end * p->in_c, line->x_step, pixels);
    const ek_vf bias = ek_vf_load_twice(b, p->out_c);
    EK_T *to = y + (h * p->out_w + v) * p->out_c;
    EK_UNROLLED_FOR(6, int32_t q = 0; q < pixels; q += 2) {
        const int32_t other = q + 1 < pixels ? q + 1 : q;
        const ek_vf both = ek_vf_clamp(ek_vf_add(ek_vf_neighbours(sum[q], sum[other]), bias), p->lo, p->hi);
        if (!EK_IS_COMPACT && 2 * p->out_c == EK_VF_LANES && line->y_step == p->out_c && other > q) {
            ek_vf_store(to + q * line->y_step, EK_VF_LANES, both);
            continue;
        }
        ek_vf_store_half(to + q * line->y_step, p->out_c, both, 0);
        if (other > q)
            ek_vf_store_half(to + other * line->y_step, p->out_c, both, 1);
    }
}

/* How many pixels of a line advance together, at most twelve: the fewest tiles, of about the same width. */
EK_INLINE int32_t EK_FN_width(const int32_t length)
{
    const int32_t tiles = (length + 11) / 12;
    return (length + tiles - 1) / tiles;
}

/* `length` pixels from (h, v) on, side by side or one above the other. */
EK_INLINE void EK_FN_pixels_of_line(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, const int32_t h,
    const int32_t v, const int32_t length, const int32_t is_column, const struct EK_STRUCT *p)
{
    const int32_t left = v * p->stride_w - p->pad_left;
    const struct EK_FN_line line = {is_column ? p->stride_h * p->step_h : p->stride_w * p->in_c,
        is_column ? p->out_w * p->out_c : p->out_c, ek_first_tap(left, 1),
        ek_end_tap(left, 1, p->k_w, p->in_w)};
#define EK_SUMS_OF(n)                                                                                        \
    for (int32_t k = 0; k < length; k += (n)) {                                                              \
        const int32_t at = k + (n) <= length ? k : length - (n);                                             \
        EK_FN_pixels(x, w, b, y, is_column ? h + at : h, is_column ? v : v + at, (n), &line, p);             \
    }
#ifdef EK_LAYER /* compilers know the shapes, and need not read widths that are not taken */
    if (length > 0)
        EK_SUMS_OF(EK_FN_width(length))
#else
    if (!EK_IS_COMPACT && length >= 12)
        EK_SUMS_OF(12)
    else if (!EK_IS_COMPACT && length >= 8)
        EK_SUMS_OF(8)
    else if (length >= 4)
        EK_SUMS_OF(4)
    else
        EK_SUMS_OF(1)
#endif
#undef EK_SUMS_OF
}

/* An image: lines are rows inside of it, and where windows are cut at the left or right, columns. */
EK_INLINE void EK_FN_image(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, const struct EK_STRUCT *p)
{
    const int32_t left = (p->pad_left + p->stride_w - 1) / p->stride_w;
    const int32_t top = (p->pad_top + p->stride_h - 1) / p->stride_h;
    const int32_t fit_w = p->in_w + p->pad_left - p->k_w, most_w = fit_w < 0 ? 0 : fit_w / p->stride_w + 1;
    const int32_t fit_h = p->in_h + p->pad_top - (p->k_h - 1) * p->dilation_h - 1;
    const int32_t most_h = fit_h < 0 ? 0 : fit_h / p->stride_h + 1;
    const int32_t right = most_w < p->out_w ? most_w : p->out_w;
    const int32_t bottom = most_h < p->out_h ? most_h : p->out_h;
    for (int32_t h = 0; h < p->out_h; h++) {
        const int32_t is_inside = h >= top && h < bottom;
        EK_FN_pixels_of_line(x, w, b, y, h, left, right - left, 0, p);
        for (int32_t v = 0; v < p->out_w; v++) {
            if (v == left && left < right)
                v = right;
            if (v < p->out_w && (!is_inside || h == top))
                EK_FN_pixels_of_line(x, w, b, y, h, v, is_inside ? bottom - top : 1, 1, p);
        }
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    /* Windows of one cell that lie side by side: rows follow each other as one. */
    const int32_t is_flat = p->k_h == 1 && p->k_w == 1 && p->stride_h == 1 && p->stride_w == 1
                            && p->out_h == p->in_h && p->out_w == p->in_w && p->step_h == p->in_w * p->in_c;
    struct EK_STRUCT s = *p;
    s.in_w = is_flat ? p->in_h * p->in_w : p->in_w;
    s.in_h = is_flat ? 1 : p->in_h;
    s.out_w = is_flat ? s.in_w : p->out_w;
    s.out_h = is_flat ? 1 : p->out_h;
    for (int32_t n = 0; n < p->batch;
        n++, x += p->in_h * p->in_w * p->in_c, y += p->out_h * p->out_w * p->out_c)
        EK_FN_image(x, w, b, y, &s);
}
