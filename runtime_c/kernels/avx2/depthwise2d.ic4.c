/* Depthwise convolution of so few channels that a vector holds several pixels. What is inside of a row are numbers
 * side by side, whatever their channel; pixels whose windows are cut are computed one at a time, which pays where
 * they are few.
 * @for T=f32 W=f32 B=f32
 * @when in_c == out_c and stride_w == 1
 * @when in_c <= 4 and 8 % in_c == 0
 * @when out_w >= (10 if in_c * k_w <= 3 else 18) or pad_left == 0 and out_w + (k_w - 1) * dilation_w <= in_w
 * @pack w: O/8~ H W I o8
 * @pack b: O/8~ o8 */
/* Depthwise convolution of few channels with weights of 16 bits.
 * @as avx2/depthwise2d.ic4_bf16 f32=bf16
 * @for T=f32 W=bf16 B=f32
 * @when in_c == out_c and stride_w == 1
 * @when in_c <= 4 and 8 % in_c == 0
 * @when out_w >= (10 if in_c * k_w <= 3 else 18) or pad_left == 0 and out_w + (k_w - 1) * dilation_w <= in_w */
/* Depthwise convolution of few channels with weights of 16 bits.
 * @as avx2/depthwise2d.ic4_f16 f32=f16
 * @for T=f32 W=f16 B=f32
 * @when in_c == out_c and stride_w == 1
 * @when in_c <= 4 and 8 % in_c == 0
 * @when out_w >= (10 if in_c * k_w <= 3 else 18) or pad_left == 0 and out_w + (k_w - 1) * dilation_w <= in_w */
/* Depthwise convolution of few channels with AVX-512.
 * @as avx512/depthwise2d.ic8
 * @for T=f32 W=f32 B=f32
 * @when in_c == out_c and stride_w == 1
 * @when in_c <= 8 and 16 % in_c == 0
 * @pack w: O/16~ H W I o16
 * @pack b: O/16~ o16 */
/* Depthwise convolution of few channels with weights of 16 bits.
 * @as avx512/depthwise2d.ic8_bf16 f32=bf16
 * @for T=f32 W=bf16 B=f32
 * @when in_c == out_c and stride_w == 1
 * @when in_c <= 8 and 16 % in_c == 0
 * @pack w: O/16~ H W I o16
 * @pack b: O/16~ o16 */
/* Depthwise convolution of few channels with weights of 16 bits.
 * @as avx512/depthwise2d.ic8_f16 f32=f16
 * @for T=f32 W=f16 B=f32
 * @when in_c == out_c and stride_w == 1
 * @when in_c <= 8 and 16 % in_c == 0
 * @pack w: O/16~ H W I o16
 * @pack b: O/16~ o16 */
#include "edgekit/contracts/depthwise2d.h"
#include "edgekit/loops/image_f32.h"

/* `count` vectors of numbers, those in `lanes`, from (h, v) on, of windows whose columns from `j` to end - 1 are inside. */
EK_INLINE void EK_FN_numbers(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, const int32_t lanes,
    const int32_t count, const int32_t h, const int32_t at, const int32_t j, const int32_t end,
    const struct EK_STRUCT *p)
{
    const int32_t top = h * p->stride_h - p->pad_top, line = p->in_w * p->in_c;
    const int32_t last = ek_end_tap(top, p->dilation_h, p->k_h, p->in_h);
    const ek_vf bias = ek_vf_load(b, lanes);
    ek_vf sum[8] = {bias, bias, bias, bias, bias, bias, bias, bias};
    for (int32_t i = ek_first_tap(top, p->dilation_h); i < last; i++) {
        const EK_T *row = x + (top + i * p->dilation_h) * line + at;
        for (int32_t k = j; k < end; k++) {
            const ek_vf weight = ek_vf_weights(w, (i * p->k_w + k) * EK_VF_LANES, EK_F32_KIND);
            EK_UNROLLED_FOR(8, int32_t q = 0; q < count; q++)
                sum[q] = ek_vf_fma(weight,
                    ek_vf_load(row + (k * p->dilation_w - p->pad_left) * p->in_c + q * EK_VF_LANES, lanes),
                    sum[q]);
        }
    }
    EK_UNROLLED_FOR(8, int32_t q = 0; q < count; q++)
        ek_vf_store(
            y + h * p->out_w * p->out_c + at + q * EK_VF_LANES, lanes, ek_vf_clamp(sum[q], p->lo, p->hi));
}

/* A row, of which pixels from `left` to right - 1 have all of their windows inside. */
EK_INLINE void EK_FN_row(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, const int32_t h,
    const int32_t left, const int32_t right, const struct EK_STRUCT *p)
{
    const int32_t first = left * p->in_c, end = right * p->in_c, size = end - first;
#define EK_NUMBERS(n)                                                                                        \
    for (int32_t k = first; k < end; k += (n) * EK_VF_LANES)                                                 \
        EK_FN_numbers(x, w, b, y, EK_VF_LANES, (n), h,                                                       \
            k + (n) * EK_VF_LANES <= end ? k : end - (n) * EK_VF_LANES, 0, p->k_w, p);
    if (size >= 8 * EK_VF_LANES)
        EK_NUMBERS(8)
    else if (size >= 4 * EK_VF_LANES)
        EK_NUMBERS(4)
    else if (size >= EK_VF_LANES)
        EK_NUMBERS(1)
    else if (size > 0)
        EK_FN_numbers(x, w, b, y, size, 1, h, first, 0, p->k_w, p);
#undef EK_NUMBERS
    for (int32_t v = 0; v < p->out_w; v++) {
        if (v == left && size > 0)
            v = right;
        const int32_t start = v - p->pad_left;
        if (v < p->out_w)
            EK_FN_numbers(x, w, b, y, p->in_c, 1, h, v * p->in_c, ek_first_tap(start, p->dilation_w),
                ek_end_tap(start, p->dilation_w, p->k_w, p->in_w), p);
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const int32_t fit = p->in_w + p->pad_left - (p->k_w - 1) * p->dilation_w, most = fit < 0 ? 0 : fit;
    const int32_t right = most < p->out_w ? most : p->out_w;
    for (int32_t n = 0; n < p->batch;
        n++, x += p->in_h * p->in_w * p->in_c, y += p->out_h * p->out_w * p->out_c)
        for (int32_t h = 0; h < p->out_h; h++)
            EK_FN_row(x, w, b, y, h, p->pad_left, right, p);
}
