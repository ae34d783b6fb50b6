/* Depthwise convolution of floats. Eight channels of a pixel advance together, then one.
 * @for T=f32 W=f32 B=f32 @when in_c == out_c @pack w: H W O I */
#include "edgekit/contracts/depthwise2d.h"

/* One pixel, whose window starts at row `top`, column `left` of x, maybe outside. */
EK_INLINE void EK_FN_pixel(const float *EK_RESTRICT x, const float *EK_RESTRICT w, const float *EK_RESTRICT b,
    float *EK_RESTRICT y, const int32_t top, const int32_t left, const struct EK_STRUCT *p)
{
    int32_t o = 0;
    for (; o + 8 <= p->out_c; o += 8) {
        v128_t s = wasm_v128_load(b + o), t = wasm_v128_load(b + o + 4);
        for (int32_t i = 0; i < p->k_h; i++)
            for (int32_t j = 0; j < p->k_w; j++) {
                const int32_t row = top + i * p->dilation_h, column = left + j * p->dilation_w;
                if (row < 0 || row >= p->in_h || column < 0 || column >= p->in_w)
                    continue;
                const float *cell = x + (row * p->in_w + column) * p->in_c + o;
                const float *weights = w + (i * p->k_w + j) * p->out_c + o;
                s = ek_madd_wasm(s, wasm_v128_load(cell), wasm_v128_load(weights));
                t = ek_madd_wasm(t, wasm_v128_load(cell + 4), wasm_v128_load(weights + 4));
            }
        wasm_v128_store(y + o, ek_within_wasm(s, p->lo, p->hi));
        wasm_v128_store(y + o + 4, ek_within_wasm(t, p->lo, p->hi));
    }
    for (; o < p->out_c; o++) {
        float sum = b[o];
        for (int32_t i = 0; i < p->k_h; i++)
            for (int32_t j = 0; j < p->k_w; j++) {
                const int32_t row = top + i * p->dilation_h, column = left + j * p->dilation_w;
                if (row >= 0 && row < p->in_h && column >= 0 && column < p->in_w)
                    sum += x[(row * p->in_w + column) * p->in_c + o] * w[(i * p->k_w + j) * p->out_c + o];
            }
        y[o] = sum < p->lo ? p->lo : sum > p->hi ? p->hi : sum;
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++, y += p->out_c)
                EK_FN_pixel(x, w, b, y, h * p->stride_h - p->pad_top, v * p->stride_w - p->pad_left, p);
}
