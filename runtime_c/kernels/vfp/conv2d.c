/* Convolution of floats with a scalar FPU: see conv2d.h. Four outputs of two neighbours advance together, a row of the
 * image for each block of outputs, so that its weights stay in a cache; taps outside of x are cut off.
 * for T=f32 W=f32 B=f32
 * when step_c == 1 or in_c == groups
 * pack w: G O/4! H W I o4
 * pack b: G O/4! o4 */
#include "edgekit/conv2d.h"
#include "edgekit/dots_f32_vfp.h"

/* What pixels have in common whose windows have so many rows and columns inside of x: runs are whole rows where the
 * cells of a window are neighbours in x, else single cells. */
EK_INLINE struct ek_pixels_vfp EK_FN_pixels(
    const float *b, const int32_t rows, const int32_t columns, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, cell = p->dilation_w * p->step_w, is_dense = cell == depth;
    struct ek_pixels_vfp s;
    s.rows = columns > 0 ? rows : 0;
    s.runs = is_dense ? 1 : columns;
    s.run = is_dense ? columns * depth : depth;
    s.x_run = (cell - depth) * 4;
    s.x_row = (p->dilation_h * p->step_h - (columns - 1) * cell - depth) * 4;
    s.w_row = (p->k_w - columns) * depth * 16;
    s.x_step = p->stride_w * p->step_w * 4;
    s.y_step = p->out_c * 4;
    s.turns = 1;
    s.bounds = ek_bounds_vfp(p->lo, p->hi);
    s.lo = p->lo;
    s.hi = p->hi;
    s.b = b;
    return s;
}

/* `width` outputs of the pixels of a row of y; `x` is where the first row of the windows is. */
EK_INLINE void EK_FN_row(const float *x, const float *w, const float *b, float *y,
    const struct ek_taps_vfp rows, const int32_t width, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, last = p->in_w - (p->k_w - 1) * p->dilation_w - 1;
    for (int32_t v = 0; v < p->out_w;) {
        const int32_t left = v * p->stride_w - p->pad_left;
        const struct ek_taps_vfp columns = ek_taps_in_vfp(left, p->in_w, p->k_w, p->dilation_w);
        const int32_t inside = left >= 0 && left <= last ? (last - left) / p->stride_w + 1 : 1;
        const int32_t pixels = inside < p->out_w - v ? inside : p->out_w - v;
        struct ek_pixels_vfp s = EK_FN_pixels(b, rows.count, columns.count, p);
        ek_outputs_f32_vfp(x + (left + columns.first * p->dilation_w) * p->step_w,
            w + columns.first * depth * 4, y + v * p->out_c, width, pixels, &s);
        v += pixels;
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups;
    const int32_t cells = p->k_h * p->k_w * depth, tiled = (outputs + 3) / 4 * 4;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++, y += p->out_w * p->out_c) {
            const int32_t top = h * p->stride_h - p->pad_top;
            const struct ek_taps_vfp rows = ek_taps_in_vfp(top, p->in_h, p->k_h, p->dilation_h);
            const EK_T *line = x + (top + rows.first * p->dilation_h) * p->step_h;
            const EK_W *weights = w + rows.first * p->k_w * depth * 4;
            for (int32_t g = 0; g < p->groups; g++)
                for (int32_t o = 0; o < outputs; o += 4) {
                    const int32_t block = g * tiled + o, width = outputs - o < 4 ? outputs - o : 4;
                    EK_FN_row(line + g * depth * p->step_c, weights + block * cells, b + block,
                        y + g * outputs + o, rows, width, p);
                }
        }
}
