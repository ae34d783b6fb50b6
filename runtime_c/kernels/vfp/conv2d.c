/* Convolution of floats with a scalar FPU. Four outputs of two pixels advance together; pixels of which the same taps
 * lie inside of x form areas, in which the weights of a block stay in a cache.
 * @for T=f32 W=f32 B=f32 @when step_c == 1 or in_c == groups @pack w: G O/4! H W I o4 @pack b: G O/4! o4
 * @count down: min(out_h, -(-pad_top // stride_h) + 1
 * @count down: + max(0, out_h - 1 - (in_h - 1 + pad_top - (k_h - 1) * dilation_h) // stride_h))
 * @count across: min(out_w, -(-pad_left // stride_w) + 1
 * @count across: + max(0, out_w - 1 - (in_w - 1 + pad_left - (k_w - 1) * dilation_w) // stride_w))
 * @count area blocks: batch * groups * -(-(out_c // groups) // 4) * down * across
 * @work area blocks, clamped outputs, odd outputs, output window lines, padded products inside
 * @work paired outputs, parted window lines */
/* Convolution of floats with weights of 16 bits.
 * @as vfp/conv2d.bf16 W=bf16 f32=bf16
 * @work calls, clamped outputs, odd outputs, output windows, parted windows, products by 16-vectors
 * @work weights, window 16-vectors
 * @as vfp/conv2d.f16 W=f16 f32=f16
 * @work area blocks, clamped outputs, odd outputs, output window lines, padded products inside
 * @work paired outputs, parted window lines */
#include "edgekit/contracts/conv2d.h"
#include "edgekit/simd/cortex_m/gemm_f32_vfp.h"

/* What pixels have in common whose windows have so many rows and columns inside of x: runs are whole rows where the
 * cells of a window are neighbours in x, else single cells. */
EK_INLINE struct ek_pixels_vfp EK_FN_pixels(
    const int32_t rows, const int32_t columns, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, cell = p->dilation_w * p->step_w, is_dense = cell == depth;
    struct ek_pixels_vfp s;
    s.rows = columns > 0 ? rows : 0;
    s.runs = is_dense ? 1 : columns;
    s.run = is_dense ? columns * depth : depth;
    s.x_run = (cell - depth) * 4;
    s.x_row = (p->dilation_h * p->step_h - (columns - 1) * cell - depth) * 4;
    s.w_row = (p->k_w - columns) * depth * 4 * (int32_t)sizeof(EK_W);
    s.x_step = p->stride_w * p->step_w * 4;
    s.y_step = p->out_c * 4;
    s.turns = 1;
    s.bounds = ek_bounds_vfp(p->lo, p->hi);
    s.lo = p->lo;
    s.hi = p->hi;
    s.b = 0;
    return s;
}

/* All outputs of `high` rows of `wide` pixels, from row h, column v on, that are cut alike. */
EK_INLINE void EK_FN_area(const float *x, const EK_W *w, const float *b, float *y, const int32_t h,
    const int32_t v, const int32_t high, const int32_t wide, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups;
    const int32_t cells = p->k_h * p->k_w * depth, tiled = (outputs + 3) / 4 * 4;
    const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
    const struct ek_taps_vfp rows = ek_taps_in_vfp(top, p->in_h, p->k_h, p->dilation_h);
    const struct ek_taps_vfp columns = ek_taps_in_vfp(left, p->in_w, p->k_w, p->dilation_w);
    struct ek_pixels_vfp s = EK_FN_pixels(rows.count, columns.count, p);
    const struct ek_lines_vfp lines =
        ek_lines_in_vfp(high, wide, p->stride_h * p->step_h * 4, p->out_w * p->out_c * 4, &s);
    x += (top + rows.first * p->dilation_h) * p->step_h + (left + columns.first * p->dilation_w) * p->step_w;
    y += (h * p->out_w + v) * p->out_c;
    w += (rows.first * p->k_w + columns.first) * depth * 4;
    for (int32_t g = 0; g < p->groups; g++, x += depth * p->step_c, y += outputs)
        for (int32_t o = 0; o < outputs; o += 4) {
            const int32_t block = g * tiled + o, width = outputs - o < 4 ? outputs - o : 4;
            s.b = b + block;
            for (int32_t i = 0; i < lines.count; i++)
                ek_f32_outputs_vfp(x + i * (lines.x_step / 4), w + block * cells,
                    y + o + i * (lines.y_step / 4), width, lines.pixels, &s);
        }
}

static EK_VFP_SHARED void EK_FN_image(
    const float *x, const EK_W *w, const float *b, float *y, const struct EK_STRUCT *p)
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
