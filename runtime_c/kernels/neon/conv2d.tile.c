/* Convolution of floats. Four pixels of a row and sixteen outputs advance together. Windows that lie inside of the
 * image are read where they are; others are gathered first.
 * @also conv2d_add
 * @apart
 * @for T=f32 W=f32 B=f32
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @pack w: G O/16!4 HWI o16
 * @scratch 16 if k_h * k_w == 1 and stride_h * stride_w == 1 and out_h == in_h and out_w == in_w and step_c == 1
 * @scratch else 16 * k_h * k_w * in_c
 * @order pixels 4 4 */
/* Convolution of floats with weights of 16 bits, which are widened once, where that pays: for many pixels, and more
 * than a few weights.
 * @as neon/conv2d.unpacked_bf16 f32_once=bf16_once
 * @also conv2d_add
 * @apart
 * @for T=f32 W=bf16 B=f32
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @when batch * out_h * out_w > 12 and 96 * groups < out_c * k_h * k_w * in_c <= 65536 * groups
 * @scratch (out_c + 3) // 4 * 16 * k_h * k_w * in_c // groups
 * @scratch + (16 if k_h * k_w == 1 and stride_h * stride_w == 1 and out_h == in_h and out_w == in_w and step_c == 1
 * @scratch else 16 * k_h * k_w * in_c)
 * @order pixels 4 4
 * @work padded products 0.485 */
/* Convolution of floats with weights of 16 bits, which are widened once, where that pays: for many pixels, and more
 * than a few weights.
 * @as neon/conv2d.unpacked_f16 f32_once=f16_once
 * @also conv2d_add
 * @apart
 * @for T=f32 W=f16 B=f32
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @when batch * out_h * out_w > 12 and 96 * groups < out_c * k_h * k_w * in_c <= 65536 * groups
 * @scratch (out_c + 3) // 4 * 16 * k_h * k_w * in_c // groups
 * @scratch + (16 if k_h * k_w == 1 and stride_h * stride_w == 1 and out_h == in_h and out_w == in_w and step_c == 1
 * @scratch else 16 * k_h * k_w * in_c)
 * @order pixels 4 4
 * @work padded products 0.43 */
/* Convolution of floats with weights of 16 bits, which are widened where they are loaded.
 * @as neon/conv2d.bf16 f32=bf16 bf16_once=f32_once
 * @also conv2d_add
 * @apart
 * @for T=f32 W=bf16 B=f32
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @order pixels 4 4
 * @work padded products 0.558 */
/* Convolution of floats with weights of 16 bits, which are widened where they are loaded.
 * @as neon/conv2d.f16 f32=f16 f16_once=f32_once
 * @also conv2d_add
 * @apart
 * @for T=f32 W=f16 B=f32
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @order pixels 4 4
 * @work padded products 0.544 */
/* Convolution of floats with weights of 16 bits, which are widened once, where that pays: for many pixels.
 * @as neon32/conv2d.unpacked_bf16 f32_once=bf16_once
 * @also conv2d_add
 * @apart
 * @for T=f32 W=bf16 B=f32
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @when batch * out_h * out_w > 12 and out_c * k_h * k_w * in_c <= 65536 * groups
 * @scratch (out_c + 3) // 4 * 16 * k_h * k_w * in_c // groups
 * @scratch + (16 if k_h * k_w == 1 and stride_h * stride_w == 1 and out_h == in_h and out_w == in_w and step_c == 1
 * @scratch else 16 * k_h * k_w * in_c)
 * @order pixels 4 2
 * @work padded products 0.808 */
/* Convolution of floats with weights of 16 bits, which are widened once, where that pays: for many pixels.
 * @as neon32/conv2d.unpacked_f16 f32_once=f16_once
 * @also conv2d_add
 * @apart
 * @for T=f32 W=f16 B=f32
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @when batch * out_h * out_w > 12 and out_c * k_h * k_w * in_c <= 65536 * groups
 * @scratch (out_c + 3) // 4 * 16 * k_h * k_w * in_c // groups
 * @scratch + (16 if k_h * k_w == 1 and stride_h * stride_w == 1 and out_h == in_h and out_w == in_w and step_c == 1
 * @scratch else 16 * k_h * k_w * in_c)
 * @order pixels 4 2
 * @work padded products 1.09 */
/* Convolution of floats. Windows that lie inside of the image are read where they are; others are gathered first.
 * Subnormal numbers count as 0, as this unit has it.
 * @as neon32/conv2d.tile
 * @also conv2d_add
 * @apart
 * @for T=f32 W=f32 B=f32
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @order pixels 4 2 */
/* Convolution of floats with weights of 16 bits, which are widened where they are loaded.
 * @as neon32/conv2d.bf16 f32=bf16 bf16_once=f32_once
 * @also conv2d_add
 * @apart
 * @for T=f32 W=bf16 B=f32
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @order pixels 4 2
 * @work padded products 0.816 */
/* Convolution of floats with weights of 16 bits, which are widened where they are loaded.
 * @as neon32/conv2d.f16 f32=f16 f16_once=f32_once
 * @also conv2d_add
 * @apart
 * @for T=f32 W=f16 B=f32
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @order pixels 4 2
 * @work padded products 3.77 */
/* Convolution of floats with weights of bytes: scales are in place of what is added. They are widened where they are
 * loaded.
 * @as neon/conv2d_scaled f32=s8 s8_once=f32_once
 * @apart
 * @for T=f32 W=s8 B=f32
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @order pixels 4 4
 * @work padded products 0.68 */
/* Convolution of floats with weights of bytes, which are widened once, where that pays: for many pixels.
 * @as neon/conv2d_scaled.unpacked f32_once=s8_once f32=scaled
 * @apart
 * @for T=f32 W=s8 B=f32
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @when batch * out_h * out_w > 12 and out_c * k_h * k_w * in_c <= 65536 * groups
 * @scratch (out_c + 3) // 4 * 16 * k_h * k_w * in_c // groups
 * @scratch + (16 if k_h * k_w == 1 and stride_h * stride_w == 1 and out_h == in_h and out_w == in_w and step_c == 1
 * @scratch else 16 * k_h * k_w * in_c)
 * @order pixels 4 4
 * @work padded products 0.629 */
/* Convolution of floats with weights of bytes: scales are in place of what is added. They are widened where they are
 * loaded.
 * @as neon32/conv2d_scaled f32=s8 s8_once=f32_once
 * @apart
 * @for T=f32 W=s8 B=f32
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @order pixels 4 2
 * @work padded products 1.34 */
/* Convolution of floats with weights of bytes, which are widened once, where that pays: for many pixels.
 * @as neon32/conv2d_scaled.unpacked f32_once=s8_once f32=scaled
 * @apart
 * @for T=f32 W=s8 B=f32
 * @when (groups == 1 or out_c % (4 * groups) == 0)
 * @when batch * out_h * out_w > 12 and out_c * k_h * k_w * in_c <= 65536 * groups
 * @scratch (out_c + 3) // 4 * 16 * k_h * k_w * in_c // groups
 * @scratch + (16 if k_h * k_w == 1 and stride_h * stride_w == 1 and out_h == in_h and out_w == in_w and step_c == 1
 * @scratch else 16 * k_h * k_w * in_c)
 * @order pixels 4 2
 * @work padded products 1.16 */
/* Convolution of floats one at a time. Windows that lie inside of the image are read where they are; others are gathered
 * first.
 * @as riscvf/conv2d
 * @also conv2d_add
 * @apart
 * @for T=f32 W=f32 B=f32
 * @pack w: G O/4 H W I o4
 * @order pixels 4 4 */
/* Convolution of floats with weights of 16 bits.
 * @as riscvf/conv2d.bf16 f32=bf16 bf16_once=f32_once
 * @also conv2d_add
 * @apart
 * @for T=f32 W=bf16 B=f32
 * @pack w: G O/4 H W I o4
 * @order pixels 4 4 */
/* Convolution of floats with weights of 16 bits.
 * @as riscvf/conv2d.f16 f32=f16 f16_once=f32_once
 * @also conv2d_add
 * @apart
 * @for T=f32 W=f16 B=f32
 * @pack w: G O/4 H W I o4
 * @order pixels 4 4 */
/* Convolution of floats with weights of bytes: scales are in place of what is added.
 * @as riscvf/conv2d_scaled f32=s8 s8_once=f32_once
 * @apart
 * @for T=f32 W=s8 B=f32
 * @pack w: G O/4 H W I o4
 * @order pixels 4 4 */
#include "edgekit/contracts/conv2d.h"

/* One window of a group, its cells side by side. */
EK_INLINE void EK_FN_gather(const float *EK_RESTRICT x, float *EK_RESTRICT to, const int32_t top,
    const int32_t left, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups;
    const int whole = p->groups == 1 && left >= 0 && left + (p->k_w - 1) * p->dilation_w < p->in_w;
    x += left * p->step_w;
    for (int32_t i = 0; i < p->k_h; i++, to += p->k_w * depth) {
        const int32_t row = top + i * p->dilation_h;
        const float *from = x + row * p->step_h;
        if (row < 0 || row >= p->in_h)
            ek_zero_floats_vf(to, p->k_w * depth);
        else if (p->step_c == 1 && p->dilation_w == 1 && whole)
            ek_copy_floats_vf(to, from, p->k_w * depth);
        else
            for (int32_t j = 0; j < p->k_w; j++, from += p->dilation_w * p->step_w) {
                const int32_t column = left + j * p->dilation_w;
                if (column < 0 || column >= p->in_w)
                    ek_zero_floats_vf(to + j * depth, depth);
                else if (p->step_c == 1)
                    ek_copy_floats_vf(to + j * depth, from, depth);
                else
                    for (int32_t c = 0; c < depth; c++)
                        to[j * depth + c] = from[c * p->step_c];
            }
    }
}

/* All outputs of a group, of one to four pixels. */
EK_COMPACT void EK_FN_pixels(const float *x, const int32_t step, const int32_t row, const int32_t rows,
    const int32_t length, const uint8_t *w, const float *b, const float *r, float *y, const int32_t group,
    const int32_t pixels, const struct EK_STRUCT *p)
{
    const int32_t outputs = p->out_c / p->groups, taps = p->k_h * p->k_w * (p->in_c / p->groups);
    const struct ek_window_f32 s = {
        rows, 1, length, row, 0, 1, length, 0, 0, 0, 0, EK_F32_KIND, p->lo, p->hi};
    ek_parts_f32(x, w + group * outputs * taps * ek_weight_bytes(EK_F32_KIND), b, r, y, step, p->out_c,
        pixels, taps, group * outputs, outputs, &s);
}

/* One to four pixels from pixel `start` of row `first` on, which may be behind its end, of a group. Windows are read
 * where they are, or gathered. */
EK_INLINE void EK_FN_windows(const float *EK_RESTRICT x, const uint8_t *EK_RESTRICT w,
    const float *EK_RESTRICT b, const float *EK_RESTRICT r, float *EK_RESTRICT y, float *EK_RESTRICT windows,
    const int32_t group, const int32_t first, const int32_t start, const int32_t pixels,
    const struct EK_STRUCT *p)
{
    const int32_t length = p->k_w * (p->in_c / p->groups), cells = p->k_h * length,
                  image = p->in_h * p->in_w * p->in_c;
    const int32_t down = p->out_w % EK_VF_TOGETHER == 0 ? 0 : start / p->out_w, v = start - down * p->out_w;
    const int32_t line = first + down, n = line / p->out_h;
    const int32_t top = (line - n * p->out_h) * p->stride_h - p->pad_top,
                  left = v * p->stride_w - p->pad_left;
    const int inside = top >= 0 && top + (p->k_h - 1) * p->dilation_h < p->in_h && left >= 0
                       && v + pixels <= p->out_w && left + (pixels - 1) * p->stride_w + p->k_w <= p->in_w;
    if (p->step_c == 1 && (p->k_w == 1 || (p->dilation_w == 1 && p->groups == 1)) && inside)
        EK_FN_pixels(x + n * image + top * p->step_h + left * p->step_w, p->stride_w * p->step_w,
            p->dilation_h * p->step_h, p->k_h, length, w, b, r, y, group, pixels, p);
    else {
        for (int32_t i = 0; i < pixels; i++) {
            const int32_t more = p->out_w % EK_VF_TOGETHER == 0 ? 0 : (v + i) / p->out_w,
                          its_n = (line + more) / p->out_h;
            EK_FN_gather(x + its_n * image, windows + i * cells,
                (line + more - its_n * p->out_h) * p->stride_h - p->pad_top,
                (v + i - more * p->out_w) * p->stride_w - p->pad_left, p);
        }
        EK_FN_pixels(windows, cells, 0, 1, cells, w, b, r, y, group, pixels, p);
    }
}

/* One to four pixels of all groups. */
EK_INLINE void EK_FN_groups(const float *EK_RESTRICT x, const uint8_t *EK_RESTRICT w,
    const float *EK_RESTRICT b, const float *EK_RESTRICT r, float *EK_RESTRICT y, float *EK_RESTRICT windows,
    const int32_t line, const int32_t v, const int32_t pixels, const int flat, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups;
    for (int32_t g = 0; g < p->groups; g++) {
        if (flat)
            EK_FN_pixels(x + v * p->in_c + g * depth, p->in_c, 0, 1, depth, w, b, r, y, g, pixels, p);
        else
            EK_FN_windows(x + g * depth * p->step_c, w, b, r, y, windows, g, line, v, pixels, p);
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_SCALE(const EK_B *EK_RESTRICT scale, ) EK_ADD(const EK_T *EK_RESTRICT r, ) EK_T *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    /* Windows of one cell that lie side by side in x: a row of numbers for each pixel. */
    const int flat = p->k_h == 1 && p->k_w == 1 && p->stride_h == 1 && p->stride_w == 1 && p->step_c == 1
                     && p->out_h == p->in_h && p->out_w == p->in_w;
    /* Rows that no tiles fill follow each other as one. */
    const int joined = flat || p->out_w % EK_VF_TOGETHER != 0;
    const int32_t width = joined ? p->batch * p->out_h * p->out_w : p->out_w;
    const int32_t lines = joined ? 1 : p->batch * p->out_h;
    float *windows = (float *)(void *)scratch;
    const uint8_t *weights = (const uint8_t *)ek_f32_once_vf(
        w, (p->out_c + 3) / 4 * 4 * p->k_h * p->k_w * (p->in_c / p->groups), &windows);
    const float *addend = 0;
    EK_ADD(addend = r;)
    EK_SCALE(addend = scale;)
    /* How many pixels of a line are in tiles: of four, the last three, too, and one is computed twice. */
    const int32_t rest = width % EK_VF_TOGETHER, more = rest > EK_VF_TOGETHER / 2 ? EK_VF_TOGETHER : 0;
    const int32_t tiled = width < EK_VF_TOGETHER ? 0 : width - rest + more;
    for (int32_t line = 0; line < lines; line++, y += width * p->out_c) {
        for (int32_t k = 0; k < tiled; k += EK_VF_TOGETHER) {
            const int32_t v = k + EK_VF_TOGETHER <= width ? k : width - EK_VF_TOGETHER;
            EK_FN_groups(x, weights, b, ek_addend_f32(addend, v * p->out_c, EK_F32_KIND), y + v * p->out_c,
                windows, line, v, EK_VF_TOGETHER, flat, p);
        }
        for (int32_t v = tiled; v < width; v++)
            EK_FN_groups(x, weights, b, ek_addend_f32(addend, v * p->out_c, EK_F32_KIND), y + v * p->out_c,
                windows, line, v, 1, flat, p);
        addend = ek_addend_f32(addend, width * p->out_c, EK_F32_KIND);
    }
}
