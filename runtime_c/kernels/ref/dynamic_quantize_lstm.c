/* Long short-term memory with dynamic quantization.
 * @pack r: G O/16 I o16 */
#include "edgekit/contracts/dynamic_quantize_lstm.h"

/* The state as integers around 0; returns its scale. */
EK_INLINE float EK_FN_state(const float *EK_RESTRICT h, int16_t *EK_RESTRICT q, const int32_t n)
{
    float scale;
    const int32_t zero = ek_dynamic_range(h, n, &scale);
    for (int32_t i = 0; i < n; i++)
        q[i] = (int16_t)(ek_dynamic_code(h[i], scale, zero) - zero);
    return scale;
}

/* Sixteen sums of a gate, or `width`. */
EK_INLINE void EK_FN_block(const float *EK_RESTRICT x, const int8_t *EK_RESTRICT r,
    const float *EK_RESTRICT scale, const int32_t *EK_RESTRICT zero, const int16_t *EK_RESTRICT q,
    float *EK_RESTRICT gate, const float h_scale, const int32_t total, const int32_t width,
    const int32_t size)
{
    int32_t sum[16];
    for (int32_t o = 0; o < width; o++)
        sum[o] = 0;
    for (int32_t i = 0; i < size; i++) {
        EK_SIDE_BY_SIDE
        for (int32_t o = 0; o < width; o++)
            sum[o] += q[i] * r[i * width + o];
    }
    for (int32_t o = 0; o < width; o++)
        gate[o] = x[o] + (float)(sum[o] - zero[o] * total) * (h_scale * scale[o]);
}

EK_INLINE void EK_FN_sums(const float *EK_RESTRICT x, const int8_t *EK_RESTRICT r,
    const float *EK_RESTRICT scale, const int32_t *EK_RESTRICT zero, const int16_t *EK_RESTRICT q,
    float *EK_RESTRICT gate, const float h_scale, const int32_t size)
{
    int32_t total = 0;
    for (int32_t i = 0; i < size; i++)
        total += q[i];
    for (int32_t k = 0; k < 4 * size; k += size) {
        const int8_t *const w = r + k * size;
        int32_t o = 0;
        for (; o + 16 <= size; o += 16)
            EK_FN_block(x + k + o, w + o * size, scale + k + o, zero + k + o, q, gate + k + o, h_scale, total,
                16, size);
        if (o < size)
            EK_FN_block(x + k + o, w + o * size, scale + k + o, zero + k + o, q, gate + k + o, h_scale, total,
                size - o, size);
    }
}

EK_KERNEL void EK_FN(const float *EK_RESTRICT x, const int8_t *EK_RESTRICT r, const float *EK_RESTRICT scale,
    const int32_t *EK_RESTRICT zero, const float *EK_RESTRICT h0, const float *EK_RESTRICT c0,
    float *EK_RESTRICT y, float *EK_RESTRICT h, float *EK_RESTRICT c, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    const int32_t size = p->size, all = p->batch * size;
    float *const gate = (float *)(void *)scratch;
    int16_t *const q = (int16_t *)(void *)(scratch + 16 * size);
    ek_dynamic_lstm_start(h0, c0, h, c, all);
    for (int32_t step = 0; step < p->steps; step++) {
        const int32_t t = p->reverse ? p->steps - 1 - step : step;
        const float h_scale = EK_FN_state(h, q, all);
        for (int32_t n = 0; n < all; n += size) {
            EK_FN_sums(x + 4 * (t * all + n), r, scale, zero, q + n, gate, h_scale, size);
            ek_dynamic_lstm_step(gate, h + n, c + n, size);
        }
        for (int32_t i = 0; i < all; i++)
            y[t * all + i] = h[i];
    }
}
