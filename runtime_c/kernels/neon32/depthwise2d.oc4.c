/* Depthwise convolution of floats. Sixteen channels of a pixel advance together, then four; the last four may be
 * computed twice in part. Subnormal numbers count as 0, as this unit has it.
 * @for T=f32 W=f32 B=f32
 * @when in_c == out_c and out_c >= 4
 * @pack w: H W O I
 * @scratch 16
 * @order pixels 4 */
/* Depthwise convolution of floats with weights of 16 bits, which are widened once.
 * @as neon32/depthwise2d.oc4_bf16 f32_once=bf16_once
 * @for T=f32 W=bf16 B=f32
 * @when in_c == out_c and out_c >= 4
 * @scratch 4 * k_h * k_w * out_c + 12
 * @order pixels 4 */
#include "edgekit/contracts/depthwise2d.h"

/* Sixteen channels of one pixel, or four, from where the pointers point at on. */
EK_INLINE void EK_FN_block(const float *EK_RESTRICT x, const float *EK_RESTRICT w, const float *EK_RESTRICT b,
    float *EK_RESTRICT y, const int32_t top, const int32_t left, const int32_t width,
    const struct EK_STRUCT *p)
{
    float32x4_t s0 = vld1q_f32(b), s1 = s0, s2 = s0, s3 = s0;
    if (width == 16) {
        s1 = vld1q_f32(b + 4);
        s2 = vld1q_f32(b + 8);
        s3 = vld1q_f32(b + 12);
    }
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
            s0 = vfmaq_f32(s0, vld1q_f32(cell), vld1q_f32(weights));
            if (width == 16) {
                s1 = vfmaq_f32(s1, vld1q_f32(cell + 4), vld1q_f32(weights + 4));
                s2 = vfmaq_f32(s2, vld1q_f32(cell + 8), vld1q_f32(weights + 8));
                s3 = vfmaq_f32(s3, vld1q_f32(cell + 12), vld1q_f32(weights + 12));
            }
        }
    }
    vst1q_f32(y, ek_vf_clamp(s0, p->lo, p->hi));
    if (width == 16) {
        vst1q_f32(y + 4, ek_vf_clamp(s1, p->lo, p->hi));
        vst1q_f32(y + 8, ek_vf_clamp(s2, p->lo, p->hi));
        vst1q_f32(y + 12, ek_vf_clamp(s3, p->lo, p->hi));
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    float *room = (float *)(void *)scratch;
    const float *weights = ek_f32_once_neon(w, p->k_h * p->k_w * p->out_c, &room);
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++, y += p->out_c) {
                const int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
                int32_t o = 0;
                for (; o + 16 <= p->out_c; o += 16)
                    EK_FN_block(x + o, weights + o, b + o, y + o, top, left, 16, p);
                for (; o < p->out_c; o += 4) {
                    o = o + 4 <= p->out_c ? o : p->out_c - 4;
                    EK_FN_block(x + o, weights + o, b + o, y + o, top, left, 4, p);
                }
            }
}
