/* Depthwise convolution of floats. Four vectors of channels of a pixel advance together, then one.
 * @for T=f32 W=f32 B=f32 @when in_c == out_c @pack w: H W O I @scratch 16 @order pixels 4
 * @count blocks: out_c // 16 + out_c % 16 // 4 + (out_c % 4 > 0)
 * @count window blocks: batch * out_h * out_w * blocks
 * @count checked taps: batch * out_h * out_w * k_h * k_w * blocks * (whole_h * whole_w < out_h * out_w)
 * @count product vectors: batch * taps_h * taps_w * ((out_c + 3) // 4)
 * @count partial products: batch * taps_h * taps_w * (out_c % 4 > 0)
 * @count result vectors: batch * out_h * out_w * ((out_c + 3) // 4)
 * @work checked taps 0.948, partial products 4.67, product vectors 0.93, result vectors 17 */
/* Depthwise convolution of floats with weights of 16 bits, which are widened once.
 * @as neon/depthwise2d.m1_bf16 W=bf16 f32_once=bf16_once, neon32/depthwise2d.m1_bf16 W=bf16 f32_once=bf16_once
 * @when k_h * k_w * out_c >= 4 @scratch 4 * k_h * k_w * out_c + 12
 * @work checked taps 0.948, partial products 4.67, product vectors 0.93, result vectors 17, weights 0.696
 * @as neon/depthwise2d.m1_f16 W=f16 f32_once=f16_once, neon32/depthwise2d.m1_f16 W=f16 f32_once=f16_once like neon/depthwise2d.m1_bf16
 * @work checked taps 0.948, partial products 4.67, product vectors 0.93, result vectors 17, weights 1.21 */
/* Depthwise convolution of floats. Four vectors of channels of a pixel advance together, then one. Subnormal numbers
 * count as 0, as this unit has it.
 * @as neon32/depthwise2d.m1 */
#include "edgekit/contracts/depthwise2d.h"

/* `blocks` vectors of channels of one pixel, the last of `lanes`, from where the pointers point at on. */
EK_INLINE void EK_FN_block(const float *EK_RESTRICT x, const float *EK_RESTRICT w, const float *EK_RESTRICT b,
    float *EK_RESTRICT y, const int32_t top, const int32_t left, const int32_t blocks, const int32_t lanes,
    const struct EK_STRUCT *p)
{
    ek_vf sum[4];
    if (blocks == 4) /* or compilers load the weights of all pixels ahead, and keep them on the stack */
        __asm__("" : "+r"(w));
    for (int32_t k = 0; k < blocks; k++)
        sum[k] = ek_vf_load(b + k * EK_VF_LANES, lanes);
    for (int32_t i = 0; i < p->k_h; i++) {
        const int32_t row = top + i * p->dilation_h;
        if (row < 0 || row >= p->in_h)
            continue;
        for (int32_t j = 0; j < p->k_w; j++) {
            const int32_t column = left + j * p->dilation_w;
            if (column < 0 || column >= p->in_w)
                continue;
            const float *cell = x + (row * p->in_w + column) * p->in_c;
            const float *weights = w + (i * p->k_w + j) * p->out_c;
            for (int32_t k = 0; k < blocks; k++)
                sum[k] = ek_vf_fma(ek_vf_load(cell + k * EK_VF_LANES, lanes),
                    ek_vf_load(weights + k * EK_VF_LANES, lanes), sum[k]);
        }
    }
    for (int32_t k = 0; k < blocks; k++)
        ek_vf_store(y + k * EK_VF_LANES, lanes, ek_vf_clamp(sum[k], p->lo, p->hi));
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    float *room = (float *)(void *)scratch;
    const float *weights = ek_f32_once_vf(w, p->k_h * p->k_w * p->out_c, &room);
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++, y += p->out_c) {
                const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
                int32_t o = 0;
                for (; o + 4 * EK_VF_LANES <= p->out_c; o += 4 * EK_VF_LANES)
                    EK_FN_block(x + o, weights + o, b + o, y + o, top, left, 4, EK_VF_LANES, p);
                for (; o + EK_VF_LANES <= p->out_c; o += EK_VF_LANES)
                    EK_FN_block(x + o, weights + o, b + o, y + o, top, left, 1, EK_VF_LANES, p);
                if (p->out_c % EK_VF_LANES > 0)
                    EK_FN_block(x + o, weights + o, b + o, y + o, top, left, 1, p->out_c - o, p);
            }
}
