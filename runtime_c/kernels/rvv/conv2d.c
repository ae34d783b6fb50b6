/* Convolution of floats. Outputs of up to five pixels of a row advance together, as many as four vector registers hold:
 * see pixel_rows_f32_rvv.h. Windows are read where they are; where columns are outside of the image, those of pixels side
 * by side are gathered first, as one.
 * @for T=f32 W=f32 B=f32 @also conv2d_add @apart @pack w: G O/64 H I W o64
 * @scratch 4 * k_h * (4 * stride_w + (k_w - 1) * dilation_w + 1) * (in_c // groups) @order pixels 16 5
 * @count length: batch * out_h * out_w if k_h * k_w * stride_h * stride_w * groups == 1 and step_c == 1
 * @count length: and out_h == in_h and out_w == in_w else out_w
 * @count blocks: groups * ((out_c // groups + 31) // 32)
 * @count tiles: batch * out_h * out_w // length * ((length + 4) // 5)
 * @count edges: (pad_left > 0) + ((out_w - 1) * stride_w + (k_w - 1) * dilation_w + 1 > in_w + pad_left)
 * @count gathered rows: min(tiles, batch * out_h * edges) * groups * k_h
 * @count weight vectors: tiles * taps_h // out_h * blocks * k_w * (in_c // groups)
 * @count product vectors: batch * taps_h * out_w * blocks * k_w * (in_c // groups)
 * @count result vectors: batch * out_h * out_w * blocks
 * @work calls 96.4, gathered rows 46.8, product vectors 6.34, result vectors 16.8, weight vectors 5.85 */
/* Convolution of floats, for few outputs: two vector registers, of up to twelve pixels.
 * @as rvv/conv2d.oc16 fm4=fm2
 * @scratch 4 * k_h * (11 * stride_w + (k_w - 1) * dilation_w + 1) * (in_c // groups) @order pixels 8 12
 * @count blocks: groups * ((out_c // groups + 15) // 16)
 * @count tiles: batch * out_h * out_w // length * ((length + 11) // 12)
 * @work gathered rows 38, product vectors 4.06, result vectors 5.4, tiles 102, weight vectors 4.44 */
/* Convolution of floats, for many outputs: eight vector registers, of up to three pixels.
 * @as rvv/conv2d.oc64 fm4=fm8 @pack w: G O/64 H W I o64
 * @scratch 4 * k_h * (2 * stride_w + (k_w - 1) * dilation_w + 1) * (in_c // groups) @order pixels 32 3
 * @count blocks: groups * ((out_c // groups + 63) // 64)
 * @count tiles: batch * out_h * out_w // length * ((length + 2) // 3)
 * @work gathered rows 32.2, product vectors 11.3, tiles 86, weight vectors 10.6 */
/* Convolution of floats with weights of 16 bits.
 * @as rvv/conv2d.bf16 W=bf16 f32=bf16 bf16_once=f32_once
 * @work calls 30.2, gathered rows 58.7, product vectors 6.15, result vectors 22.9, tiles 8.91
 * @work weight vectors 16.3
 * @as rvv/conv2d.f16 W=f16 f32=f16 f16_once=f32_once
 * @work gathered rows 37, product vectors 21.1, result vectors 9.06, weight vectors 36.4 */
/* Convolution of floats with weights of 16 bits, for few outputs.
 * @as rvv/conv2d.bf16_oc16 W=bf16 f32=bf16 bf16_once=f32_once like rvv/conv2d.oc16
 * @work calls 49.6, gathered rows 59.3, product vectors 3.83, result vectors 16.6, weight vectors 11
 * @as rvv/conv2d.f16_oc16 W=f16 f32=f16 f16_once=f32_once like rvv/conv2d.oc16
 * @work calls 90.2, gathered rows 39, product vectors 5.02, result vectors 11, tiles 38.6
 * @work weight vectors 39.7 */
/* Convolution of floats with weights of bytes: scales are in place of what is added.
 * @as rvv/conv2d_scaled W=s8 f32=s8 s8_once=f32_once @without also
 * @work calls 91.8, gathered rows 36, product vectors 7.05, result vectors 16.2, tiles 40.8
 * @work weight vectors 14.7 */
/* Convolution of floats with weights of bytes, for few outputs: scales are in place of what is added.
 * @as rvv/conv2d_scaled.oc16 W=s8 f32=s8 s8_once=f32_once like rvv/conv2d.oc16 @without also
 * @work calls 38.7, gathered rows 43.9, product vectors 3.72, result vectors 16, tiles 27.7
 * @work weight vectors 11.9 */
/* Convolution of floats with weights of 16 bits, for many outputs and many pixels: weights are widened once.
 * @as rvv/conv2d.bf16_oc64 W=bf16 f32_once=bf16_once like rvv/conv2d.oc64
 * @when out_c * k_h * k_w * in_c <= 65536 * groups @scratch 4 * out_c * k_h * k_w * (in_c // groups)
 * @scratch + 4 * k_h * (2 * stride_w + (k_w - 1) * dilation_w + 1) * (in_c // groups)
 * @work gathered rows 60.5, product vectors 11.3, result vectors 40.7, tiles 9.28, weight vectors 9.58
 * @work weights 0.694 */
/* Convolution of floats with weights of bytes, for many outputs and many pixels: weights are widened once.
 * @as rvv/conv2d_scaled.oc64 W=s8 f32_once=s8_once f32=scaled like rvv/conv2d.bf16_oc64 @without also
 * @work calls 86.5, gathered rows 40.2, product vectors 8.87, result vectors 19.8, tiles 78.9
 * @work weight vectors 15.9, weights 0.673 */
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
    EK_IF_SCALE(const EK_B *EK_RESTRICT scale, ) EK_IF_R(const EK_T *EK_RESTRICT r, ) EK_T *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    float *band = (float *)(void *)scratch;
    const uint8_t *const weights =
        ek_f32_once_rvv(w, p->out_c * p->k_h * p->k_w * (p->in_c / p->groups), &band);
    const int is_line = p->k_h == 1 && p->k_w == 1 && p->stride_h == 1 && p->stride_w == 1 && p->step_c == 1
                        && p->groups == 1 && p->out_h == p->in_h && p->out_w == p->in_w;
    const float *addend = 0;
    int32_t step = 0;
    EK_IF_R(addend = r; step = p->out_c;)
    EK_IF_SCALE(addend = scale;)
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
