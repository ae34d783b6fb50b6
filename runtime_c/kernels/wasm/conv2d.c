/* Convolution of floats: see pixel_rows_f32_wasm.h. An image with borders is copied with them, so that all windows
 * are whole.
 * @for T=f32 W=f32 B=f32
 * @when groups == 1 and dilation_w == 1 and step_c == 1 and step_w == in_c and step_h == in_w * in_c
 * @pack w: O/8! H W I o8 @pack b: O/8! o8
 * @scratch 16 if pad_top + pad_left == 0 and (out_w - 1) * stride_w + k_w <= in_w and (out_h - 1) * stride_h + (k_h - 1) * dilation_h < in_h
 * @scratch else 4 * ((out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1) * ((out_w - 1) * stride_w + k_w) * in_c */
/* Convolution of floats with weights of 16 bits, which are widened once, eight outputs at a time.
 * @as wasm/conv2d.bf16 W=bf16 f32=bf16
 * @scratch 32 * k_h * k_w * in_c + (16 if pad_top + pad_left == 0 and (out_w - 1) * stride_w + k_w <= in_w and (out_h - 1) * stride_h + (k_h - 1) * dilation_h < in_h
 * @scratch else 4 * ((out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1) * ((out_w - 1) * stride_w + k_w) * in_c)
 * @as wasm/conv2d.f16 W=f16 f32=f16 like wasm/conv2d.bf16 */
#include "edgekit/contracts/conv2d.h"

/* The image with its borders. */
EK_INLINE void EK_FN_bordered(
    const float *x, float *y, const int32_t rows, const int32_t columns, const struct EK_STRUCT *p)
{
    const int32_t room = columns - p->pad_left, width = room < p->in_w ? room : p->in_w;
    const int32_t size = (width > 0 ? width : 0) * p->in_c, left = p->pad_left * p->in_c;
    (void)__builtin_memset(y, 0, sizeof *y * (size_t)(rows * columns * p->in_c));
    for (int32_t h = 0; h < p->in_h && h + p->pad_top < rows; h++)
        (void)__builtin_memcpy(y + (h + p->pad_top) * columns * p->in_c + left, x + h * p->in_w * p->in_c,
            sizeof *y * (size_t)size);
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t rows = (p->out_h - 1) * p->stride_h + (p->k_h - 1) * p->dilation_h + 1;
    const int32_t columns = (p->out_w - 1) * p->stride_w + p->k_w;
    const int32_t is_whole = p->pad_top + p->pad_left == 0 && columns <= p->in_w && rows <= p->in_h;
    const int32_t row_step = (is_whole ? p->in_w : columns) * p->in_c;
    const int32_t taps = p->k_h * p->k_w * p->in_c, widened = ek_weight_bytes(EK_F32_KIND) < 4 ? 8 * taps : 0;
    const int32_t is_line = p->out_w * p->stride_w * p->in_c == p->stride_h * row_step;
    for (int32_t n = 0; n < p->batch; n++) {
        const float *image = x + n * p->in_h * p->in_w * p->in_c;
        float *const room = (float *)(void *)scratch, *const bordered = room + widened;
        const struct ek_lines_f32_wasm lines = {is_whole ? image : bordered, b,
            y + n * p->out_h * p->out_w * p->out_c, is_line ? 1 : p->out_h, p->stride_h * row_step,
            p->stride_w * p->in_c, is_line ? p->out_h * p->out_w : p->out_w, p->k_h, p->k_w * p->in_c,
            p->dilation_h * row_step, p->out_c, p->lo, p->hi};
        if (!is_whole)
            EK_FN_bordered(image, bordered, rows, columns, p);
        ek_f32_outputs_wasm(&lines, w, room);
    }
}
