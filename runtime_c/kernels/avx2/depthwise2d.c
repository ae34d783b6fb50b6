/* Depthwise convolution. A vector of channels and up to eight pixels of a row advance together; what a window has
 * outside of x is left out. Pixels at both ends of a row are apart: which of their cells are outside, compilers know.
 * @for T=f32 W=f32 B=f32 @when in_c == out_c @pack w: O/8! H W I o8
 * @count vectors: batch * ((out_c + 7) // 8)
 * @count tiles: (out_w + 7) // 8
 * @count rows: vectors * tiles * out_h
 * @count weight vectors: vectors * tiles * taps_h * k_w
 * @count product vectors: vectors * taps_h * taps_w
 * @count result vectors: vectors * out_h * out_w
 * @work product vectors 1.99, result vectors 2.86, rows 2.76 */
/* Depthwise convolution of floats with weights of 16 bits.
 * @as avx2/depthwise2d.bf16 W=bf16 f32=bf16 @pack w: O/8! H WI/2! o8 wi2
 * @work product vectors 1.84, result vectors 4.2, rows 3.65
 * @as avx2/depthwise2d.f16 W=f16 f32=f16
 * @work calls 44.2, product vectors 1.68, result vectors 3.05, weight vectors 1.81 */
/* Depthwise convolution with AVX-512.
 * @as avx512/depthwise2d @pack w: O/16! H W I o16 @count vectors: batch * ((out_c + 15) // 16)
 * @work product vectors 1.9, result vectors 3.98 */
/* Depthwise convolution of floats with weights of 16 bits, with AVX-512.
 * @as avx512/depthwise2d.bf16 W=bf16 f32=bf16 like avx512/depthwise2d @pack w: O/16! H WI/2! o16 wi2
 * @work product vectors 1.89, rows 33.5
 * @as avx512/depthwise2d.f16 W=f16 f32=f16 like avx512/depthwise2d
 * @work calls 305, product vectors 1.94, result vectors 3.17 */
#include "edgekit/contracts/depthwise2d.h"
#include "edgekit/loops/image_f32.h"

/* How many weights a row of taps has: those of bf16 are in twos. */
EK_INLINE int32_t EK_FN_line(const struct EK_STRUCT *p)
{
    return (EK_F32_KIND == EK_BF16_KIND ? (p->k_w + 1) / 2 * 2 : p->k_w) * EK_VF_LANES;
}

/* Adds the products of row i of the windows of `vectors` of channels, x being at column left + pad_left; unless `is_cut`,
 * all are inside. Pixel by pixel, so that cells that neighbours share are read once. */
EK_INLINE void EK_FN_taps(ek_vf sum[2][8], const EK_T *x, const EK_W *w, const int32_t vectors,
    const int32_t lanes, const int32_t i, const int32_t left, const int32_t pixels, const int32_t is_cut,
    const struct EK_STRUCT *p)
{
    const ek_vf none = ek_vf_set(0);
    EK_UNROLLED_FOR(2, int32_t k = 0; k < vectors; k++)
        EK_UNROLLED_FOR(2, int32_t first = 0; first < p->k_w; first += 4) {
            const int32_t at = (k * p->k_h + i) * EK_FN_line(p) + first * EK_VF_LANES;
            const int32_t taps = p->k_w - first < 4 ? p->k_w - first : 4;
            ek_vf weights[4] = {none, none, none, none};
            EK_UNROLLED_FOR(4, int32_t j = 0; j < taps; j++) {
                weights[j] =
                    ek_vf_weights_of_two(w, at + j / 2 * 2 * EK_VF_LANES, EK_VF_LANES, j % 2, EK_F32_KIND);
                EK_VF_KEEP(weights[j]);
            }
            EK_UNROLLED_FOR(8, int32_t q = 0; q < pixels; q++)
                EK_UNROLLED_FOR(4, int32_t j = 0; j < taps; j++) {
                    const int32_t step = q * p->stride_w + (first + j) * p->dilation_w;
                    if (!is_cut || (left + step >= 0 && left + step < p->in_w))
                        sum[k][q] = ek_vf_fma(weights[j],
                            ek_vf_load(x + (step - p->pad_left) * p->in_c + k * EK_VF_LANES, lanes),
                            sum[k][q]);
                }
        }
}

/* `pixels` pixels from (h, v) on of `vectors` of channels, of which the last one has `lanes`. */
EK_INLINE void EK_FN_pixels(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, const int32_t vectors,
    const int32_t lanes, const int32_t h, const int32_t v, const int32_t pixels, const int32_t is_cut,
    const struct EK_STRUCT *p)
{
    const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
    const int32_t first = ek_first_tap(top, p->dilation_h);
    const int32_t last = ek_end_tap(top, p->dilation_h, p->k_h, p->in_h);
    const int32_t row = p->dilation_h * p->in_w * p->in_c;
    const EK_T *from = x + ((top + first * p->dilation_h) * p->in_w + v * p->stride_w) * p->in_c;
    ek_vf sum[2][8];
    EK_UNROLLED_FOR(2, int32_t k = 0; k < vectors; k++) {
        const ek_vf bias = ek_vf_load(b + k * EK_VF_LANES, lanes);
        EK_UNROLLED_FOR(8, int32_t q = 0; q < pixels; q++)
            sum[k][q] = bias;
    }
    if (last - first == p->k_h && pixels < 6) { /* few sums wait for each other: rows side by side */
        EK_UNROLLED_FOR(3, int32_t i = 0; i < p->k_h; i++)
            EK_FN_taps(sum, from + i * row, w, vectors, lanes, i, left, pixels, is_cut, p);
    } else {
        for (int32_t i = first; i < last; i++)
            EK_FN_taps(sum, from + (i - first) * row, w, vectors, lanes, i, left, pixels, is_cut, p);
    }
    EK_UNROLLED_FOR(2, int32_t k = 0; k < vectors; k++)
        EK_UNROLLED_FOR(8, int32_t q = 0; q < pixels; q++)
            ek_vf_store(y + (h * p->out_w + v + q) * p->out_c + k * EK_VF_LANES, lanes,
                ek_vf_clamp(sum[k][q], p->lo, p->hi));
}

/* The channels in `vectors` of a row, `pixels` at a time, at most as many as it has: the last ones may overlap. */
EK_INLINE void EK_FN_row(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, const int32_t vectors,
    const int32_t lanes, const int32_t h, const int32_t pixels, const struct EK_STRUCT *p)
{
    const int32_t last = p->out_w - pixels, reach = (p->k_w - 1) * p->dilation_w;
    const int32_t is_cut = pixels * p->stride_w < p->pad_left
                           || (last - 1 + pixels - 1) * p->stride_w - p->pad_left + reach >= p->in_w;
    EK_FN_pixels(x, w, b, y, vectors, lanes, h, 0, pixels, 1, p);
    for (int32_t v = pixels; v < last; v += pixels)
        EK_FN_pixels(x, w, b, y, vectors, lanes, h, v, pixels, is_cut, p);
    if (last > 0)
        EK_FN_pixels(x, w, b, y, vectors, lanes, h, last, pixels, 1, p);
}

/* How many pixels of a row advance together; where code is to be small, four or one. */
EK_INLINE int32_t EK_FN_width(const struct EK_STRUCT *p)
{
    if (EK_IS_COMPACT)
        return p->out_w < 4 ? 1 : 4;
    const int32_t parts = (p->out_w + 7) / 8;
    return (p->out_w + parts - 1) / parts;
}

/* Few sums wait for each other: then two vectors of channels advance together, where registers can hold both. */
EK_INLINE int32_t EK_FN_is_two(const struct EK_STRUCT *p)
{
    return !EK_IS_COMPACT && EK_FN_width(p) < 7 && EK_FN_width(p) < EK_VF_PIXELS(2);
}

/* The channels in `vectors` of row h. */
EK_INLINE void EK_FN_vectors(const EK_T *x, const EK_W *w, const EK_B *b, EK_T *y, const int32_t vectors,
    const int32_t lanes, const int32_t h, const struct EK_STRUCT *p)
{
    const int32_t wanted = EK_FN_width(p);
#ifdef EK_LAYER /* compilers know the shapes, and need not read seven widths that are not taken */
    EK_FN_row(x, w, b, y, vectors, lanes, h, wanted, p);
#else
    if (EK_IS_COMPACT && wanted == 4)
        EK_FN_row(x, w, b, y, vectors, lanes, h, 4, p);
    else if (EK_IS_COMPACT)
        EK_FN_row(x, w, b, y, vectors, lanes, h, 1, p);
    else if (vectors == 1 && wanted == 8)
        EK_FN_row(x, w, b, y, 1, lanes, h, 8, p);
    else if (vectors == 1 && wanted == 7)
        EK_FN_row(x, w, b, y, 1, lanes, h, 7, p);
    else if (wanted == 6)
        EK_FN_row(x, w, b, y, vectors, lanes, h, 6, p);
    else if (wanted == 5)
        EK_FN_row(x, w, b, y, vectors, lanes, h, 5, p);
    else if (wanted == 4)
        EK_FN_row(x, w, b, y, vectors, lanes, h, 4, p);
    else if (wanted == 3)
        EK_FN_row(x, w, b, y, vectors, lanes, h, 3, p);
    else if (wanted == 2)
        EK_FN_row(x, w, b, y, vectors, lanes, h, 2, p);
    else
        EK_FN_row(x, w, b, y, vectors, lanes, h, 1, p);
#endif
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    /* Rows that stay in a cache while all channels are computed one vector after the other. */
    const int32_t room = 24576 / (p->in_w * p->in_c * p->stride_h) - p->k_h, band = room < 1 ? 1 : room;
    const int32_t taps = p->k_h * EK_FN_line(p) / EK_VF_LANES, whole = p->out_c / EK_VF_LANES * EK_VF_LANES;
    for (int32_t n = 0; n < p->batch;
        n++, x += p->in_h * p->in_w * p->in_c, y += p->out_h * p->out_w * p->out_c)
        for (int32_t h = 0; h < p->out_h; h += band) {
            const int32_t end = h + band < p->out_h ? h + band : p->out_h;
            for (int32_t o = 0; o < whole; o += 2 * EK_VF_LANES)
                for (int32_t row = h; row < end; row++)
                    if (EK_FN_is_two(p) && o + EK_VF_LANES < whole)
                        EK_FN_vectors(x + o, w + o * taps, b + o, y + o, 2, EK_VF_LANES, row, p);
                    else
                        for (int32_t k = o; k < o + 2 * EK_VF_LANES && k < whole; k += EK_VF_LANES)
                            EK_FN_vectors(x + k, w + k * taps, b + k, y + k, 1, EK_VF_LANES, row, p);
            if (whole < p->out_c)
                for (int32_t row = h; row < end; row++)
                    EK_FN_vectors(
                        x + whole, w + whole * taps, b + whole, y + whole, 1, p->out_c - whole, row, p);
        }
}
