/* Convolution to at most half a vector of outputs: see conv2d.h. Two neighbours of a run meet their weights at once,
 * the first in even lanes and the second in odd ones, whose sums are added in the end. A row of a window is one run.
 * @for T=f32 W=f32 B=f32
 * @when groups == 1 and step_c == 1 and step_w == in_c and dilation_w == 1 and k_w * in_c > 1
 * @when out_c <= 4
 * @pack w: H WI/2! O/4! o4 wi2 */
/* Convolution to at most half a vector of outputs with weights of 16 bits: as avx2/conv2d.oc4.c.
 * @as avx2/conv2d.oc4_bf16 f32=bf16
 * @for T=f32 W=bf16 B=f32
 * @when groups == 1 and step_c == 1 and step_w == in_c and dilation_w == 1 and k_w * in_c > 1
 * @when out_c <= 4 */
/* Convolution to at most half a vector of outputs with weights of 16 bits: as avx2/conv2d.oc4.c.
 * @as avx2/conv2d.oc4_f16 f32=f16
 * @for T=f32 W=f16 B=f32
 * @when groups == 1 and step_c == 1 and step_w == in_c and dilation_w == 1 and k_w * in_c > 1
 * @when out_c <= 4 */
/* Convolution to at most half a vector of outputs with AVX-512: as avx2/conv2d.oc4.c.
 * @as avx512/conv2d.oc8
 * @for T=f32 W=f32 B=f32
 * @when groups == 1 and step_c == 1 and step_w == in_c and dilation_w == 1 and k_w * in_c > 1
 * @when out_c <= 8
 * @pack w: H WI/2! O/8! o8 wi2 */
/* Convolution to at most half a vector of outputs with weights of 16 bits: as avx2/conv2d.oc4.c.
 * @as avx512/conv2d.oc8_bf16 f32=bf16
 * @for T=f32 W=bf16 B=f32
 * @when groups == 1 and step_c == 1 and step_w == in_c and dilation_w == 1 and k_w * in_c > 1
 * @when out_c <= 8
 * @pack w: H WI/2! O/8! o8 wi2 */
/* Convolution to at most half a vector of outputs with weights of 16 bits: as avx2/conv2d.oc4.c.
 * @as avx512/conv2d.oc8_f16 f32=f16
 * @for T=f32 W=f16 B=f32
 * @when groups == 1 and step_c == 1 and step_w == in_c and dilation_w == 1 and k_w * in_c > 1
 * @when out_c <= 8
 * @pack w: H WI/2! O/8! o8 wi2 */
#include "edgekit/contracts/conv2d.h"
#include "edgekit/loops/image_f32.h"

/* Adds the products of elements from `first` to end - 1 of a row of `pixels` windows. */
EK_INLINE void EK_FN_run(ek_vf sum[12], const EK_T *x, const EK_W *w, int32_t first, const int32_t end,
    const int32_t pixels, const struct EK_STRUCT *p)
{
    const int32_t step = p->stride_w * p->in_c;
    if (first >= end)
        return;
    if (first & 1) {
        const ek_vf weights = ek_vf_weights(w, first / 2 * EK_VF_LANES, EK_F32_KIND);
        EK_UNROLLED_FOR(12, int32_t q = 0; q < pixels; q++)
            sum[q] = ek_vf_fma(weights, ek_vf_odd(x[q * step + first]), sum[q]);
        first++;
    }
    int32_t pair = first / 2;
    for (; 2 * pair + 1 < end; pair++) {
        const ek_vf weights = ek_vf_weights(w, pair * EK_VF_LANES, EK_F32_KIND);
        EK_UNROLLED_FOR(12, int32_t q = 0; q < pixels; q++)
            sum[q] = ek_vf_fma(weights, ek_vf_pair(x + q * step + 2 * pair), sum[q]);
    }
    if (2 * pair < end) {
        const ek_vf weights = ek_vf_weights(w, pair * EK_VF_LANES, EK_F32_KIND);
        EK_UNROLLED_FOR(12, int32_t q = 0; q < pixels; q++)
            sum[q] = ek_vf_fma(weights, ek_vf_even(x[q * step + 2 * pair]), sum[q]);
    }
}

/* `pixels` pixels from (h, v) on, whose windows have columns from `j` to end - 1 inside. */
EK_INLINE void EK_FN_pixels(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, const int32_t h,
    const int32_t v, const int32_t j, const int32_t end, const int32_t pixels, const struct EK_STRUCT *p)
{
    const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
    const int32_t last = ek_end_tap(top, p->dilation_h, p->k_h, p->in_h);
    const int32_t row = (p->k_w * p->in_c + 1) / 2 * EK_VF_LANES;
    ek_vf sum[12];
    EK_UNROLLED_FOR(12, int32_t q = 0; q < pixels; q++)
        sum[q] = ek_vf_set(0);
    for (int32_t i = ek_first_tap(top, p->dilation_h); i < last; i++)
        EK_FN_run(sum, x + (top + i * p->dilation_h) * p->step_h + left * p->in_c, w + i * row, j * p->in_c,
            end * p->in_c, pixels, p);
    const ek_vf bias = ek_vf_load(b, p->out_c);
    EK_UNROLLED_FOR(12, int32_t q = 0; q < pixels; q++)
        ek_vf_store(y + (h * p->out_w + v + q) * p->out_c, p->out_c,
            ek_vf_clamp(ek_vf_add(ek_vf_halves(sum[q]), bias), p->lo, p->hi));
}

/* A row; pixels at its ends, whose windows are cut, one at a time. */
EK_INLINE void EK_FN_row(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, const int32_t h,
    const int32_t left, const int32_t right, const struct EK_STRUCT *p)
{
    const int32_t inside = right - left;
    int32_t v = left;
#define EK_SUMS_OF(n)                                                                                        \
    for (; v < right; v += (n))                                                                              \
        EK_FN_pixels(x, w, b, y, h, v + (n) <= right ? v : right - (n), 0, p->k_w, (n), p);
    if (inside >= 12)
        EK_SUMS_OF(12)
    else if (inside >= 8)
        EK_SUMS_OF(8)
    else if (inside >= 4)
        EK_SUMS_OF(4)
    else
        EK_SUMS_OF(1)
#undef EK_SUMS_OF
    for (v = 0; v < p->out_w; v++) {
        if (v == left && inside > 0)
            v = right;
        const int32_t start = v * p->stride_w - p->pad_left;
        if (v < p->out_w)
            EK_FN_pixels(
                x, w, b, y, h, v, ek_first_tap(start, 1), ek_end_tap(start, 1, p->k_w, p->in_w), 1, p);
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const int32_t left = (p->pad_left + p->stride_w - 1) / p->stride_w;
    const int32_t fit = p->in_w + p->pad_left - p->k_w, most = fit < 0 ? 0 : fit / p->stride_w + 1;
    const int32_t right = most < p->out_w ? most : p->out_w;
    for (int32_t n = 0; n < p->batch;
        n++, x += p->in_h * p->in_w * p->in_c, y += p->out_h * p->out_w * p->out_c)
        for (int32_t h = 0; h < p->out_h; h++)
            EK_FN_row(x, w, b, y, h, left, right, p);
}
