/* Convolution of floats. Four pixels of a row and sixteen outputs advance together. Windows that lie inside of the
 * image are read where they are; others are gathered first.
 * @for T=f32 W=f32 B=f32 @also conv2d_add @apart @when groups == 1 or out_c % (4 * groups) == 0
 * @pack w: G O/16!4 HWI o16
 * @scratch 16 if k_h * k_w == 1 and stride_h * stride_w == 1 and out_h == in_h and out_w == in_w and step_c == 1
 * @scratch else 16 * k_h * k_w * in_c @order pixels 4 4
 * @count quads: batch * out_h * out_w // 4 + (batch * out_h * out_w > 3 and batch * out_h * out_w % 4 == 3)
 * @count tiles: groups * (quads + max(0, batch * out_h * out_w - 4 * quads))
 * @count straight: whole_h * whole_w * (groups * step_c == 1)
 * @count gathered cells: batch * (out_h * out_w - straight) * (k_h * k_w > 1) * k_h * k_w * in_c
 * @count vectors: (out_c // groups + 3) // 4
 * @count cells: k_h * k_w * (in_c // groups)
 * @count weight vectors: tiles * vectors * cells
 * @count product vectors: batch * out_h * out_w * groups * vectors * cells
 * @count result vectors: batch * out_h * out_w * groups * vectors */
/* Convolution of floats with weights of 16 bits, which are widened once.
 * @as neon/conv2d.unpacked_bf16 W=bf16 f32_once=bf16_once
 * @when out_c * k_h * k_w * in_c <= 65536 * groups
 * @scratch (out_c + 3) // 4 * 16 * k_h * k_w * in_c // groups
 * @scratch + (16 if k_h * k_w == 1 and stride_h * stride_w == 1 and out_h == in_h and out_w == in_w and step_c == 1
 * @scratch else 16 * k_h * k_w * in_c)
 * @work gathered cells 0.772, product vectors 1.05, result vectors 4.11, tiles 129, weight vectors 0.651
 * @work weights 0.5
 * @as neon/conv2d.unpacked_f16 W=f16 f32_once=f16_once like neon/conv2d.unpacked_bf16
 * @work gathered cells 2.34, product vectors 0.973, result vectors 8.92, tiles 7.34, weight vectors 0.622
 * @work weights 0.824 */
/* Convolution of floats with weights of 16 bits, which are widened where they are loaded.
 * @as neon/conv2d.bf16 W=bf16 f32=bf16 bf16_once=f32_once
 * @work gathered cells 0.818, product vectors 1.14, result vectors 1.98, tiles 132, weight vectors 1.13
 * @as neon/conv2d.f16 W=f16 f32=f16 f16_once=f32_once
 * @work gathered cells 2.25, product vectors 0.974, result vectors 8.26, tiles 5.41, weight vectors 1.66
 * @as neon32/conv2d.bf16 W=bf16 f32=bf16 bf16_once=f32_once @order pixels 4 2
 * @count quads: batch * out_h * out_w // 2
 * @count tiles: groups * (quads + batch * out_h * out_w - 2 * quads)
 * @work gathered cells 3.24, product vectors 2.66, result vectors 3.28
 * @as neon32/conv2d.f16 W=f16 f32=f16 f16_once=f32_once @order pixels 4 2
 * @count quads: batch * out_h * out_w // 2
 * @count tiles: groups * (quads + batch * out_h * out_w - 2 * quads)
 * @work gathered cells 0.445, product vectors 9.69, result vectors 7.67, weight vectors 8 */
/* Convolution of floats with weights of 16 bits, which are widened once.
 * @as neon32/conv2d.unpacked_bf16 like neon/conv2d.unpacked_bf16
 * @order pixels 4 2
 * @count quads: batch * out_h * out_w // 2
 * @count tiles: groups * (quads + batch * out_h * out_w - 2 * quads)
 * @work gathered cells 3.17, product vectors 2.19, result vectors 5.98, weight vectors 0.494
 * @work weights 0.431
 * @as neon32/conv2d.unpacked_f16 W=f16 f32_once=f16_once like neon32/conv2d.unpacked_bf16
 * @work calls 276, gathered cells 3.36, product vectors 2.42, result vectors 2, weights 4.52 */
/* Convolution of floats. Windows that lie inside of the image are read where they are; others are gathered first.
 * Subnormal numbers count as 0, as this unit has it.
 * @as neon32/conv2d.tile @order pixels 4 2 */
/* Convolution of floats with weights of bytes: scales are in place of what is added. They are widened where they are
 * loaded.
 * @as neon/conv2d_scaled W=s8 f32=s8 s8_once=f32_once @without also
 * @work calls 30.6, gathered cells 1.27, product vectors 1.13, result vectors 4.35, tiles 42.9
 * @work weight vectors 2.77
 * @as neon32/conv2d_scaled like neon/conv2d_scaled @order pixels 4 2
 * @count quads: batch * out_h * out_w // 2
 * @count tiles: groups * (quads + batch * out_h * out_w - 2 * quads)
 * @work gathered cells 4.15, product vectors 0.187, result vectors 7.57, weight vectors 8.09 */
/* Convolution of floats with weights of bytes, which are widened once.
 * @as neon/conv2d_scaled.unpacked W=s8 f32_once=s8_once f32=scaled like neon/conv2d.unpacked_f16
 * @without also
 * @work gathered cells 1.67, product vectors 1, result vectors 6.21, weight vectors 1.19, weights 0.83
 * @as neon32/conv2d_scaled.unpacked like neon/conv2d_scaled.unpacked @order pixels 4 2
 * @count quads: batch * out_h * out_w // 2
 * @count tiles: groups * (quads + batch * out_h * out_w - 2 * quads)
 * @work calls 5.43, gathered cells 3.84, product vectors 0.663, result vectors 10, weight vectors 2.6
 * @work weights 1.2 */
/* Convolution of floats one at a time. Windows that lie inside of the image are read where they are; others are gathered
 * first.
 * @as riscvf/conv2d @without when @pack w: G O/4 H W I o4 */
/* Convolution of floats with weights of 16 bits.
 * @as riscvf/conv2d.bf16 W=bf16 f32=bf16 bf16_once=f32_once like riscvf/conv2d
 * @as riscvf/conv2d.f16 W=f16 f32=f16 f16_once=f32_once like riscvf/conv2d */
/* Convolution of floats with weights of bytes: scales are in place of what is added.
 * @as riscvf/conv2d_scaled W=s8 f32=s8 s8_once=f32_once @without when, also @pack w: G O/4 H W I o4 */
#include "edgekit/contracts/conv2d.h"
#include "edgekit/loops/window_tiles.h"

struct EK_FN_layer {
    const uint8_t *w;
    const float *b;
    const float *addend;
    float *y;
    const struct EK_STRUCT *p;
};

/* All outputs of a group, of one to four pixels. */
EK_COMPACT void EK_FN_pixels(const void *layer, const void *windows, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const int32_t at, const int32_t group, const int32_t pixels)
{
    const struct EK_FN_layer *const l = (const struct EK_FN_layer *)layer;
    const struct EK_STRUCT *const p = l->p;
    const int32_t outputs = p->out_c / p->groups, taps = p->k_h * p->k_w * (p->in_c / p->groups);
    const struct ek_window_f32 s = {
        rows, 1, length, row, 0, 1, length, 0, 0, 0, 0, EK_F32_KIND, p->lo, p->hi};
    ek_parts_f32((const float *)windows, l->w + group * outputs * taps * ek_weight_bytes(EK_F32_KIND), l->b,
        ek_addend_f32(l->addend, at, EK_F32_KIND), l->y + at, step, p->out_c, pixels, taps, group * outputs,
        outputs, &s);
}

EK_INLINE void EK_FN_copy(void *to, const void *from, const int32_t count)
{
    ek_copy_floats_vf((float *)to, (const float *)from, count);
}

EK_INLINE void EK_FN_fill(void *to, const int32_t value, const int32_t count)
{
    (void)value; /* 0 */
    ek_zero_floats_vf((float *)to, count);
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_IF_SCALE(const EK_B *EK_RESTRICT scale, ) EK_IF_R(const EK_T *EK_RESTRICT r, ) EK_T *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t cells = p->k_h * p->k_w * (p->in_c / p->groups);
    float *windows = (float *)(void *)scratch;
    struct EK_FN_layer layer = {0, b, 0, y, p};
    layer.w = (const uint8_t *)ek_f32_once_vf(w, (p->out_c + 3) / 4 * 4 * cells, &windows);
    EK_IF_R(layer.addend = r;)
    EK_IF_SCALE(layer.addend = scale;)
    const struct ek_tiled_windows s = {p->batch, p->in_h, p->in_w, p->in_c, p->step_h, p->step_w, p->step_c,
        p->out_h, p->out_w, p->out_c, p->k_h, p->k_w, p->stride_h, p->stride_w, p->pad_top, p->pad_left,
        p->dilation_h, p->dilation_w, p->groups, 4, EK_VF_TOGETHER, cells, 1, 0, EK_FN_copy, EK_FN_fill};
    ek_each_tile(x, windows, &s, EK_FN_pixels, &layer);
}
