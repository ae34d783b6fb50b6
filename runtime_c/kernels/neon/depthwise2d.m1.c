/* Depthwise convolution of floats. Sixteen channels of a pixel advance together, then four.
 * @for T=f32 W=f32 B=f32
 * @when in_c == out_c
 * @pack w: H W O I
 * @scratch 16
 * @order pixels 1 */
/* Depthwise convolution of floats with weights of 16 bits, which are widened once.
 * @as neon/depthwise2d.m1_bf16 f32_once=bf16_once
 * @for T=f32 W=bf16 B=f32
 * @when in_c == out_c and k_h * k_w * out_c >= 4
 * @scratch 4 * k_h * k_w * out_c + 12
 * @order pixels 1 */
#include "edgekit/contracts/depthwise2d.h"

/* Four times `blocks` channels of one pixel, from channel `first` on. */
EK_INLINE void EK_FN_block(const float *EK_RESTRICT x, const float *EK_RESTRICT w, const float *EK_RESTRICT b,
    float *EK_RESTRICT y, const int32_t first, const int32_t top, const int32_t left, const int32_t blocks,
    const struct EK_STRUCT *p)
{
    float32x4_t sum[4];
    for (int32_t k = 0; k < blocks; k++)
        sum[k] = vld1q_f32(b + first + 4 * k);
    for (int32_t i = 0; i < p->k_h; i++) {
        const int32_t row = top + i * p->dilation_h;
        if (row < 0 || row >= p->in_h)
            continue;
        for (int32_t j = 0; j < p->k_w; j++) {
            const int32_t column = left + j * p->dilation_w;
            if (column < 0 || column >= p->in_w)
                continue;
            const float *cell = x + (row * p->in_w + column) * p->in_c + first;
            const float *weights = w + (i * p->k_w + j) * p->out_c + first;
            for (int32_t k = 0; k < blocks; k++)
                sum[k] = vfmaq_f32(sum[k], vld1q_f32(cell + 4 * k), vld1q_f32(weights + 4 * k));
        }
    }
    for (int32_t k = 0; k < blocks; k++)
        vst1q_f32(y + first + 4 * k, ek_vf_clamp(sum[k], p->lo, p->hi));
}

/* One channel of one pixel. */
EK_INLINE void EK_FN_one(const float *EK_RESTRICT x, const float *EK_RESTRICT w, const float *EK_RESTRICT b,
    float *EK_RESTRICT y, const int32_t at, const int32_t top, const int32_t left, const struct EK_STRUCT *p)
{
    float sum = b[at];
    for (int32_t i = 0; i < p->k_h; i++)
        for (int32_t j = 0; j < p->k_w; j++) {
            const int32_t row = top + i * p->dilation_h, column = left + j * p->dilation_w;
            if (row >= 0 && row < p->in_h && column >= 0 && column < p->in_w)
                sum += x[(row * p->in_w + column) * p->in_c + at] * w[(i * p->k_w + j) * p->out_c + at];
        }
    y[at] = sum < p->lo ? p->lo : sum > p->hi ? p->hi : sum;
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
                    EK_FN_block(x, weights, b, y, o, top, left, 4, p);
                for (; o + 4 <= p->out_c; o += 4)
                    EK_FN_block(x, weights, b, y, o, top, left, 1, p);
                for (; o < p->out_c; o++)
                    EK_FN_one(x, weights, b, y, o, top, left, p);
            }
}
