/* Depthwise convolution of so few channels that a vector holds several pixels. A row are numbers side by side, whatever
 * their channel; where windows are cut, loads leave out what is outside of a row of x.
 * @for T=f32 W=f32 B=f32 @when in_c == out_c and stride_w == 1 and in_c <= 4 and 8 % in_c == 0
 * @pack w: O/8~ H W I o8 @pack b: O/8~ o8
 * @count size: out_w * in_c
 * @count lanes: 8
 * @count vectors: (size + lanes - 1) // lanes
 * @count first: (pad_left * in_c + lanes - 1) // lanes
 * @count last: (max(0, out_w - in_w - pad_left + (k_w - 1) * dilation_w) * in_c + lanes - 1) // lanes
 * @count cut: min(vectors, first + last)
 * @count pieces: cut + -(-(vectors - cut) // 8)
 * @count rows: batch * taps_h * pieces
 * @count product vectors: batch * taps_h * k_w * vectors
 * @count cut vectors: batch * taps_h * k_w * cut
 * @count result vectors: batch * out_h * vectors
 * @work cut vectors 0.5, product vectors 1.82, result vectors 0.783, rows 5.13 */
/* Depthwise convolution of few channels with weights of 16 bits.
 * @as avx2/depthwise2d.ic4_bf16 W=bf16 f32=bf16
 * @work cut vectors 3.5, product vectors 2.01, result vectors 3.44
 * @as avx2/depthwise2d.ic4_f16 W=f16 f32=f16
 * @work calls 46.5, cut vectors 2.38, product vectors 1.79, result vectors 0.237, rows 1.64
 * @as avx512/depthwise2d.ic8_bf16 W=bf16 f32=bf16 @without when
 * @when in_c <= 8 and 16 % in_c == 0 and in_c == out_c and stride_w == 1 @pack w: O/16~ H W I o16
 * @pack b: O/16~ o16 @count lanes: 16 @work cut vectors 4.08, product vectors 1.46, rows 7.16
 * @as avx512/depthwise2d.ic8_f16 W=f16 f32=f16 like avx512/depthwise2d.ic8_bf16
 * @work calls 114, cut vectors 4.92, product vectors 1.5, rows 3.41 */
/* Depthwise convolution of few channels with AVX-512.
 * @as avx512/depthwise2d.ic8 @without when
 * @when in_c <= 8 and 16 % in_c == 0 and in_c == out_c and stride_w == 1 @pack w: O/16~ H W I o16
 * @pack b: O/16~ o16 @count lanes: 16 @work product vectors 2.43, rows 2.79 */
#include "edgekit/contracts/depthwise2d.h"
#include "edgekit/loops/image_f32.h"

/* `count` vectors of numbers from number `at` of row h on, the first `lanes` of each. Unless `is_cut`, all that windows
 * read is inside of x. */
EK_INLINE void EK_FN_numbers(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, const int32_t lanes,
    const int32_t count, const int32_t h, const int32_t at, const int32_t is_cut, const struct EK_STRUCT *p)
{
    const int32_t top = h * p->stride_h - p->pad_top, length = p->in_w * p->in_c;
    const int32_t last = ek_end_tap(top, p->dilation_h, p->k_h, p->in_h);
    const ek_vf bias = ek_vf_load(b, EK_VF_LANES);
    ek_vf sum[8] = {bias, bias, bias, bias, bias, bias, bias, bias};
    for (int32_t i = ek_first_tap(top, p->dilation_h); i < last; i++) {
        const EK_T *row = x + (top + i * p->dilation_h) * length + at;
        EK_UNROLLED_FOR(7, int32_t k = 0; k < p->k_w; k++) {
            const ek_vf weight = ek_vf_weights(w, (i * p->k_w + k) * EK_VF_LANES, EK_F32_KIND);
            const int32_t step = (k * p->dilation_w - p->pad_left) * p->in_c;
            EK_UNROLLED_FOR(8, int32_t q = 0; q < count; q++) {
                const EK_T *from = row + step + q * EK_VF_LANES;
                const int32_t place = at + step + q * EK_VF_LANES;
                if (!is_cut || (place >= 0 && place + EK_VF_LANES <= length))
                    sum[q] = ek_vf_fma(weight, ek_vf_load(from, EK_VF_LANES), sum[q]);
                else if (place + EK_VF_LANES > 0 && place < length)
                    sum[q] = ek_vf_fma(weight, ek_vf_load_inside(from, place, length), sum[q]);
            }
        }
    }
    EK_UNROLLED_FOR(8, int32_t q = 0; q < count; q++)
        ek_vf_store(
            y + h * p->out_w * p->out_c + at + q * EK_VF_LANES, lanes, ek_vf_clamp(sum[q], p->lo, p->hi));
}

/* How many vectors of `size` numbers advance together, at most eight: the fewest tiles, of about the same width, none of
 * which is wider than all. */
EK_INLINE int32_t EK_FN_width(const int32_t size)
{
    const int32_t whole = size / EK_VF_LANES, vectors = (size + EK_VF_LANES - 1) / EK_VF_LANES;
    const int32_t most = whole < 1 ? 1 : whole < 8 ? whole : 8, tiles = (vectors + most - 1) / most;
    return (vectors + tiles - 1) / tiles;
}

/* A row, of which numbers from `left` to right - 1 have all of their windows inside. Those from `first` to end - 1 are
 * left beside whole vectors at both ends, which are cut. Vectors may overlap those before them. */
EK_INLINE void EK_FN_row(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, const int32_t h,
    const int32_t left, const int32_t right, const struct EK_STRUCT *p)
{
    const int32_t size = p->out_w * p->out_c;
    const int32_t first = (left + EK_VF_LANES - 1) / EK_VF_LANES * EK_VF_LANES;
    const int32_t end = size - (size - right + EK_VF_LANES - 1) / EK_VF_LANES * EK_VF_LANES;
    const int32_t is_cut = end - EK_VF_LANES < left; /* fewer than a vector, and no room beside them */
    if (size < EK_VF_LANES) {
        EK_FN_numbers(x, w, b, y, size, 1, h, 0, 1, p);
        return;
    }
    if (end < first) {
        EK_UNROLLED_FOR(4, int32_t k = 0; k < size; k += EK_VF_LANES)
            EK_FN_numbers(
                x, w, b, y, EK_VF_LANES, 1, h, k + EK_VF_LANES <= size ? k : size - EK_VF_LANES, 1, p);
        return;
    }
    EK_UNROLLED_FOR(2, int32_t k = 0; k < first; k += EK_VF_LANES)
        EK_FN_numbers(x, w, b, y, EK_VF_LANES, 1, h, k, 1, p);
#define EK_NUMBERS(n)                                                                                        \
    for (int32_t k = first; k < end; k += (n) * EK_VF_LANES)                                                 \
        EK_FN_numbers(x, w, b, y, EK_VF_LANES, (n), h,                                                       \
            k + (n) * EK_VF_LANES <= end ? k : end - (n) * EK_VF_LANES, is_cut, p);
#ifdef EK_LAYER /* compilers know the shapes, and need not read widths that are not taken */
    EK_NUMBERS(EK_FN_width(end - first))
#else
    if (!EK_IS_COMPACT && end - first >= 8 * EK_VF_LANES)
        EK_NUMBERS(8)
    else if (end - first >= 4 * EK_VF_LANES)
        EK_NUMBERS(4)
    else
        EK_NUMBERS(1)
#endif
#undef EK_NUMBERS
    EK_UNROLLED_FOR(2, int32_t k = end; k < size; k += EK_VF_LANES)
        EK_FN_numbers(x, w, b, y, EK_VF_LANES, 1, h, k, 1, p);
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const int32_t fit = p->in_w + p->pad_left - (p->k_w - 1) * p->dilation_w, most = fit < 0 ? 0 : fit;
    const int32_t left = p->pad_left * p->in_c, right = (most < p->out_w ? most : p->out_w) * p->in_c;
    for (int32_t n = 0; n < p->batch;
        n++, x += p->in_h * p->in_w * p->in_c, y += p->out_h * p->out_w * p->out_c)
        for (int32_t h = 0; h < p->out_h; h++)
            EK_FN_row(x, w, b, y, h, left, right, p);
}
