/* Convolution of floats. Outputs of up to five pixels of a row advance together, as many as four vector registers hold:
 * see pixel_rows_f32_rvv.h. Windows are read where they are; where columns are outside of the image, those of pixels side
 * by side are gathered first, as one.
 * @also conv2d_add
 * @apart
 * @for T=f32 W=f32 B=f32
 * @pack w: G O/64 H I W o64
 * @scratch 4 * k_h * (4 * stride_w + (k_w - 1) * dilation_w + 1) * (in_c // groups)
 * @order pixels 16 5
 * @work padded products 1 */
/* Convolution of floats, for few outputs: two vector registers, of up to twelve pixels.
 * @as rvv/conv2d.oc16 fm4=fm2
 * @also conv2d_add
 * @apart
 * @for T=f32 W=f32 B=f32
 * @when out_c // groups <= 16
 * @scratch 4 * k_h * (11 * stride_w + (k_w - 1) * dilation_w + 1) * (in_c // groups)
 * @order pixels 8 12
 * @work padded products 0.902 */
/* Convolution of floats, for many outputs: eight vector registers, of up to three pixels.
 * @as rvv/conv2d.oc64 fm4=fm8
 * @also conv2d_add
 * @apart
 * @for T=f32 W=f32 B=f32
 * @when out_c // groups > 32
 * @pack w: G O/64 H W I o64
 * @scratch 4 * k_h * (2 * stride_w + (k_w - 1) * dilation_w + 1) * (in_c // groups)
 * @order pixels 32 3
 * @work padded products 0.95 */
/* Convolution of floats with weights of 16 bits.
 * @as rvv/conv2d.bf16 f32=bf16 bf16_once=f32_once
 * @also conv2d_add
 * @apart
 * @for T=f32 W=bf16 B=f32
 * @order pixels 16 5
 * @work padded products 1 */
/* Convolution of floats with weights of 16 bits.
 * @as rvv/conv2d.f16 f32=f16 f16_once=f32_once
 * @also conv2d_add
 * @apart
 * @for T=f32 W=f16 B=f32
 * @order pixels 16 5
 * @work padded products 1 */
/* Convolution of floats with weights of 16 bits, for few outputs.
 * @as rvv/conv2d.bf16_oc16 fm4=fm2 f32=bf16 bf16_once=f32_once
 * @also conv2d_add
 * @apart
 * @for T=f32 W=bf16 B=f32
 * @when out_c // groups <= 16
 * @scratch 4 * k_h * (11 * stride_w + (k_w - 1) * dilation_w + 1) * (in_c // groups)
 * @order pixels 8 12
 * @work padded products 0.95 */
/* Convolution of floats with weights of 16 bits, for few outputs.
 * @as rvv/conv2d.f16_oc16 fm4=fm2 f32=f16 f16_once=f32_once
 * @also conv2d_add
 * @apart
 * @for T=f32 W=f16 B=f32
 * @when out_c // groups <= 16
 * @scratch 4 * k_h * (11 * stride_w + (k_w - 1) * dilation_w + 1) * (in_c // groups)
 * @order pixels 8 12
 * @work padded products 0.95 */
/* Convolution of floats with weights of bytes: scales are in place of what is added.
 * @as rvv/conv2d_scaled f32=s8 s8_once=f32_once
 * @apart
 * @for T=f32 W=s8 B=f32
 * @order pixels 16 5
 * @work padded products 1 */
/* Convolution of floats with weights of bytes, for few outputs: scales are in place of what is added.
 * @as rvv/conv2d_scaled.oc16 fm4=fm2 f32=s8 s8_once=f32_once
 * @apart
 * @for T=f32 W=s8 B=f32
 * @when out_c // groups <= 16
 * @scratch 4 * k_h * (11 * stride_w + (k_w - 1) * dilation_w + 1) * (in_c // groups)
 * @order pixels 8 12
 * @work padded products 0.95 */
/* Convolution of floats with weights of 16 bits, for many outputs and many pixels: weights are widened once.
 * @as rvv/conv2d.bf16_oc64 fm4=fm8 f32_once=bf16_once
 * @also conv2d_add
 * @apart
 * @for T=f32 W=bf16 B=f32
 * @when out_c // groups > 32
 * @when batch * out_h * out_w > 12 and out_c * k_h * k_w * in_c <= 65536 * groups
 * @pack w: G O/64 H W I o64
 * @scratch 4 * out_c * k_h * k_w * (in_c // groups)
 * @scratch + 4 * k_h * (2 * stride_w + (k_w - 1) * dilation_w + 1) * (in_c // groups)
 * @order pixels 32 3
 * @work padded products 0.902 */
/* Convolution of floats with weights of bytes, for many outputs and many pixels: weights are widened once.
 * @as rvv/conv2d_scaled.oc64 fm4=fm8 f32_once=s8_once f32=scaled
 * @apart
 * @for T=f32 W=s8 B=f32
 * @when out_c // groups > 32
 * @when batch * out_h * out_w > 12 and out_c * k_h * k_w * in_c <= 65536 * groups
 * @pack w: G O/64 H W I o64
 * @scratch 4 * out_c * k_h * k_w * (in_c // groups)
 * @scratch + 4 * k_h * (2 * stride_w + (k_w - 1) * dilation_w + 1) * (in_c // groups)
 * @order pixels 32 3
 * @work padded products 0.902 */
#include "edgekit/contracts/conv2d.h"

/* `rows` rows of windows, from row `top` of the image on, of `columns` columns from column `left` on. */
EK_INLINE void EK_FN_gather(const float *x, float *EK_RESTRICT to, const int32_t top, const int32_t rows,
    const int32_t left, const int32_t columns, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, end = left + columns;
    const int32_t first = left < 0 ? 0 : left, last = end < p->in_w ? end : p->in_w;
    const int32_t before = (first < end ? first : end) - left, inside = last > first ? last - first : 0;
    for (int32_t i = 0; i < rows; i++) {
        const float *const from = x + (top + i * p->dilation_h) * p->step_h;
        ek_zero_rvv(to, before * depth);
        to += before * depth;
        if (p->step_c == 1 && p->groups == 1)
            ek_copy_floats_rvv(to, from + first * p->step_w, inside * depth);
        else
            for (int32_t j = 0; j < inside; j++)
                for (int32_t c = 0; c < depth; c++)
                    to[j * depth + c] = from[(first + j) * p->step_w + c * p->step_c];
        to += inside * depth;
        ek_zero_rvv(to, (columns - before - inside) * depth);
        to += (columns - before - inside) * depth;
    }
}

/* All outputs of some pixels of row h, from column v on. */
EK_INLINE void EK_FN_pixels(const float *x, const uint8_t *EK_RESTRICT w, const float *EK_RESTRICT b,
    const float *r, float *y, float *EK_RESTRICT scratch, const int32_t h, const int32_t v,
    const int32_t pixels, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups;
    const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
    const int32_t first = ek_first_tap(top, p->dilation_h);
    const int32_t last = ek_end_tap(top, p->dilation_h, p->k_h, p->in_h);
    const int32_t columns = (pixels - 1) * p->stride_w + (p->k_w - 1) * p->dilation_w + 1;
    const int is_whole = left >= 0 && left + columns <= p->in_w;
    const int32_t taps = p->k_h * p->k_w * depth, start = top + first * p->dilation_h;
    const int32_t pixel = is_whole ? p->step_w : depth, channel = is_whole ? p->step_c : 1;
    const int32_t row = is_whole ? p->dilation_h * p->step_h : columns * depth,
                  column = p->dilation_w * pixel;
    const int is_run = EK_FM4_BY_CHANNELS && channel == 1 && column == depth;
    const ek_fm4_window by_channels = {last - first, is_run ? 1 : p->k_w, is_run ? p->k_w * depth : depth,
        row, column, channel, taps, first * p->k_w * depth, 0, outputs, EK_F32_KIND, p->lo, p->hi};
    const ek_fm4_window by_columns = {last - first, depth, p->k_w, row, channel, column, taps,
        first * p->k_w * depth, 0, outputs, EK_F32_KIND, p->lo, p->hi};
    const ek_fm4_window *const s = EK_FM4_BY_CHANNELS ? &by_channels : &by_columns;
    for (int32_t g = 0; g < p->groups; g++) {
        const float *from = x + g * depth * p->step_c;
        if (is_whole)
            from += start * p->step_h + left * p->step_w;
        else {
            EK_FN_gather(from, scratch, start, last - first, left, columns, p);
            from = scratch;
        }
        ek_fm4_pixels(from, w + g * outputs * taps * ek_weight_bytes(EK_F32_KIND), b + g * outputs,
            r ? r + g * outputs : 0, y + g * outputs, p->stride_w * pixel, p->out_c, pixels, s);
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_SCALE(const EK_B *EK_RESTRICT scale, ) EK_ADD(const EK_T *EK_RESTRICT r, ) EK_T *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    float *band = (float *)(void *)scratch;
    const uint8_t *const weights =
        ek_f32_once_rvv(w, p->out_c * p->k_h * p->k_w * (p->in_c / p->groups), &band);
    const int is_line = p->k_h == 1 && p->k_w == 1 && p->stride_h == 1 && p->stride_w == 1 && p->step_c == 1
                        && p->groups == 1 && p->out_h == p->in_h && p->out_w == p->in_w;
    const float *addend = 0;
    int32_t step = 0;
    EK_ADD(addend = r; step = p->out_c;)
    EK_SCALE(addend = scale;)
    if (is_line) { /* windows are pixels, which follow each other through all images */
        const ek_fm4_window s = {1, 1, p->in_c, 0, 0, 1, p->in_c, 0, 0, p->out_c, EK_F32_KIND, p->lo, p->hi};
        ek_fm4_line(x, weights, b, addend, y, p->in_c, p->out_c, p->batch * p->out_h * p->out_w, &s);
        return;
    }
    const int32_t pixels = ek_tile_pixels(p->out_w, EK_FM4_PIXELS), whole = p->out_w / pixels * pixels;
#define EK_FN_tile(n)                                                                                        \
    EK_FN_pixels(x, weights, b, addend ? addend + v * step : 0, y + v * p->out_c, band, h, v, (n), p)
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++, y += p->out_w * p->out_c) {
            int32_t v = 0;
            for (; v < whole; v += pixels)
                EK_FN_tile(pixels);
            if (EK_IS_COMPACT)
                for (; v < p->out_w; v++)
                    EK_FN_tile(1);
            else if (whole < p->out_w)
                EK_FN_tile(p->out_w - whole);
            addend = addend ? addend + p->out_w * step : 0;
        }
#undef EK_FN_tile
}
