/* Depthwise convolution of floats with a scalar FPU: see depthwise2d.h. Eight channels of two neighbours advance
 * together; channels left over one by one. Taps outside of x are cut off.
 * for T=f32 W=f32 B=f32
 * when in_c == out_c
 * pack w: O/8! H W I o8
 * pack b: O/8! o8 */
#include "edgekit/depthwise2d.h"
#include "edgekit/dots_f32_vfp.h"

/* What pixels have in common whose windows have so many rows and columns inside of x. */
EK_INLINE struct ek_pixels_vfp EK_FN_pixels(
    const float *b, const int32_t rows, const int32_t columns, const struct EK_STRUCT *p)
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
    s.b = b;
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

/* Eight channels, or fewer, of the pixels of a row of y; `x` is where the first row of the windows is. */
EK_INLINE void EK_FN_row(const float *x, const float *w, const float *b, float *y,
    const struct ek_taps_vfp rows, const int32_t width, const struct EK_STRUCT *p)
{
    const int32_t last = p->in_w - (p->k_w - 1) * p->dilation_w - 1;
    for (int32_t v = 0; v < p->out_w;) {
        const int32_t left = v * p->stride_w - p->pad_left, is_inside = left >= 0 && left <= last;
        const struct ek_taps_vfp columns = ek_taps_in_vfp(left, p->in_w, p->k_w, p->dilation_w);
        const int32_t inside = is_inside && width == 8 ? (last - left) / p->stride_w + 1 : 1;
        const int32_t pixels = inside < p->out_w - v ? inside : p->out_w - v;
        struct ek_pixels_vfp s = EK_FN_pixels(b, rows.count, columns.count, p);
        const float *from = x + (left + columns.first * p->dilation_w) * p->in_c;
        const float *weights = w + columns.first * 8;
        float *to = y + v * p->out_c;
        if (width < 8)
            EK_FN_few(from, weights, to, width, &s);
        else if (pixels < 2)
            ek_channels_f32_vfp(from, weights, to, &s);
        else {
            s.turns = pixels / 2;
            ek_channels_f32_vfp_x2(from, weights, to, &s);
        }
        v += pixels < 2 ? 1 : pixels / 2 * 2;
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const int32_t taps = p->k_h * p->k_w;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++, y += p->out_w * p->out_c) {
            const int32_t top = h * p->stride_h - p->pad_top;
            const struct ek_taps_vfp rows = ek_taps_in_vfp(top, p->in_h, p->k_h, p->dilation_h);
            const EK_T *line = x + (top + rows.first * p->dilation_h) * p->in_w * p->in_c;
            for (int32_t o = 0; o < p->out_c; o += 8) {
                const int32_t width = p->out_c - o < 8 ? p->out_c - o : 8;
                EK_FN_row(line + o, w + o * taps + rows.first * p->k_w * 8, b + o, y + o, rows, width, p);
            }
        }
}
