/* Depthwise convolution of floats with a scalar FPU: see depthwise2d.h. Eight channels of two neighbours advance
 * together; channels left over one by one. Taps outside of x are cut off.
 * for T=f32 W=f32 B=f32
 * when in_c == out_c
 * pack w: O/8! H W I o8
 * pack b: O/8! o8 */
#include "edgekit/depthwise2d.h"
#include "edgekit/dots_f32_vfp.h"

EK_INLINE struct ek_cut_vfp EK_FN_cut(const int32_t rows, const int32_t columns, const struct EK_STRUCT *p)
{
    const int32_t cell = p->dilation_w * p->in_c;
    struct ek_cut_vfp cut;
    cut.rows = columns > 0 ? rows : 0;
    cut.runs = columns;
    cut.run = 8;
    cut.x_run = cell * 4;
    cut.w_run = 0;
    cut.x_row = (p->dilation_h * p->in_w * p->in_c - columns * cell) * 4;
    cut.w_row = (p->k_w - columns) * 32;
    return cut;
}

/* `count` channels of a pixel one by one: so many that no eight are left. */
EK_INLINE void EK_FN_few(const float *x, const float *w, const float *b, float *sums, const int32_t count,
    const struct ek_cut_vfp *cut)
{
    for (int32_t c = 0; c < count; c++) {
        const float *from = x + c, *weight = w + c;
        float sum = b[c];
        for (int32_t i = 0; i < cut->rows; i++, from += cut->x_row / 4, weight += cut->w_row / 4)
            for (int32_t j = 0; j < cut->runs; j++, from += cut->x_run / 4, weight += 8)
                sum = __builtin_fmaf(*from, *weight, sum);
        sums[c] = sum;
    }
}

/* Eight channels, or fewer, of the pixels of a row of y; `x` is where the first row of the window is. */
EK_INLINE void EK_FN_row(const float *x, const float *w, const float *b, float *y,
    const struct ek_taps_vfp rows, const int32_t width, const struct EK_STRUCT *p)
{
    const int32_t last = p->in_w - (p->k_w - 1) * p->dilation_w - 1;
    const struct ek_cut_vfp inside = EK_FN_cut(rows.count, p->k_w, p);
    float sums[16];
    for (int32_t v = 0; v < p->out_w; v++) {
        const int32_t left = v * p->stride_w - p->pad_left, is_inside = left >= 0 && left <= last;
        const struct ek_taps_vfp columns = ek_taps_in_vfp(left, p->in_w, p->k_w, p->dilation_w);
        const struct ek_cut_vfp cut = is_inside ? inside : EK_FN_cut(rows.count, columns.count, p);
        const float *from = x + (left + columns.first * p->dilation_w) * p->in_c;
        const float *weights = w + columns.first * 8;
        if (width < 8)
            EK_FN_few(from, weights, b, sums, width, &cut);
        else if (is_inside && v + 1 < p->out_w && left + p->stride_w <= last) {
            ek_channels_f32_vfp_x2(from, from + p->stride_w * p->in_c, weights, b, sums, &cut);
            ek_put_vfp(y + v * p->out_c, sums, 8, p->lo, p->hi);
            ek_put_vfp(y + ++v * p->out_c, sums + 8, 8, p->lo, p->hi);
            continue;
        } else
            ek_channels_f32_vfp_x2(from, from, weights, b, sums, &cut);
        ek_put_vfp(y + v * p->out_c, sums, width, p->lo, p->hi);
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
