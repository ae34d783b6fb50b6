/* Depthwise convolution of floats with a scalar FPU. Eight channels of two pixels advance together, channels left
 * over one by one; pixels of which the same taps lie inside of x form areas.
 * @for T=f32 W=f32 B=f32 @when in_c == out_c @pack w: O/8! H W I o8 @pack b: O/8! o8
 * @work clamped outputs, odd outputs, output window lines, padded products, products by 16 outputs
 * @work tap cells beside 16-vectors, weights */
#include "edgekit/contracts/depthwise2d.h"
#include "edgekit/simd/cortex_m/gemm_f32_vfp.h"

/* What pixels have in common whose windows have so many rows and columns inside of x. */
EK_INLINE struct ek_pixels_vfp EK_FN_pixels(
    const int32_t rows, const int32_t columns, const struct EK_STRUCT *p)
{
    const int32_t cell = p->dilation_w * p->in_c;
    struct ek_pixels_vfp s;
    s.rows = columns > 0 ? rows : 0;
    s.runs = columns;
    s.run = 1;
    s.x_run = cell * 4;
    s.x_row = (p->dilation_h * p->in_w * p->in_c - columns * cell) * 4;
    s.w_row = (p->k_w - columns) * 32;
    s.x_step = p->stride_w * p->in_c * 4;
    s.y_step = p->out_c * 4;
    s.turns = 1;
    s.bounds = ek_bounds_vfp(p->lo, p->hi);
    s.lo = p->lo;
    s.hi = p->hi;
    s.b = 0;
    return s;
}

/* Channels of a pixel one by one: so many that no eight are left. */
EK_INLINE void EK_FN_few(
    const float *x, const float *w, float *y, const int32_t count, const struct ek_pixels_vfp *s)
{
    for (int32_t c = 0; c < count; c++) {
        const float *from = x + c, *weight = w + c;
        float sum = s->b[c];
        for (int32_t i = 0; i < s->rows; i++, from += s->x_row / 4, weight += s->w_row / 4)
            for (int32_t j = 0; j < s->runs; j++, from += s->x_run / 4, weight += 8)
                sum = __builtin_fmaf(*from, *weight, sum);
        y[c] = sum < s->lo ? s->lo : sum > s->hi ? s->hi : sum;
    }
}

/* All channels of `high` rows of `wide` pixels, from row h, column v on, that are cut alike. */
EK_INLINE void EK_FN_area(const float *x, const float *w, const float *b, float *y, const int32_t h,
    const int32_t v, const int32_t high, const int32_t wide, const struct EK_STRUCT *p)
{
    const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
    const struct ek_taps_vfp rows = ek_taps_in_vfp(top, p->in_h, p->k_h, p->dilation_h);
    const struct ek_taps_vfp columns = ek_taps_in_vfp(left, p->in_w, p->k_w, p->dilation_w);
    struct ek_pixels_vfp s = EK_FN_pixels(rows.count, columns.count, p);
    const struct ek_lines_vfp lines =
        ek_lines_in_vfp(high, wide, p->stride_h * p->in_w * p->in_c * 4, p->out_w * p->out_c * 4, &s);
    x += ((top + rows.first * p->dilation_h) * p->in_w + left + columns.first * p->dilation_w) * p->in_c;
    y += (h * p->out_w + v) * p->out_c;
    w += (rows.first * p->k_w + columns.first) * 8;
    for (int32_t o = 0; o < p->out_c; o += 8) {
        const float *weights = w + o * p->k_h * p->k_w;
        s.b = b + o;
        for (int32_t i = 0; i < lines.count; i++) {
            const float *from = x + o + i * (lines.x_step / 4);
            float *to = y + o + i * (lines.y_step / 4);
            if (p->out_c - o >= 8)
                ek_eight_f32_vfp(from, weights, to, lines.pixels, &s);
            else
                for (int32_t j = 0; j < lines.pixels; j++)
                    EK_FN_few(from + j * (s.x_step / 4), weights, to + j * (s.y_step / 4), p->out_c - o, &s);
        }
    }
}

static EK_VFP_SHARED void EK_FN_image(
    const float *x, const float *w, const float *b, float *y, const struct EK_STRUCT *p)
{
    int32_t high, wide;
    for (int32_t h = 0; h < p->out_h; h += high) {
        const int32_t top = h * p->stride_h - p->pad_top;
        high = ek_alike_vfp(h, p->out_h, p->stride_h, top, p->in_h - 1 - (p->k_h - 1) * p->dilation_h - top);
        for (int32_t v = 0; v < p->out_w; v += wide) {
            const int32_t left = v * p->stride_w - p->pad_left;
            wide = ek_alike_vfp(
                v, p->out_w, p->stride_w, left, p->in_w - 1 - (p->k_w - 1) * p->dilation_w - left);
            EK_FN_area(x, w, b, y, h, v, high, wide, p);
        }
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t n = 0; n < p->batch; n++)
        EK_FN_image(x + n * p->in_h * p->in_w * p->in_c, w, b, y + n * p->out_h * p->out_w * p->out_c, p);
}
