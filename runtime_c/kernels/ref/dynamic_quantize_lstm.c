/* Long short-term memory with dynamic quantization.
 * @pack r: G O/16 I o16 */
#include "edgekit/contracts/dynamic_quantize_lstm.h"

/* The state as bytes; returns its scale. */
EK_INLINE float EK_FN_state(
    const float *EK_RESTRICT h, int16_t *EK_RESTRICT q, int32_t *EK_RESTRICT zero, const int32_t n)
{
    float scale;
    *zero = ek_dynamic_range(h, n, &scale);
    for (int32_t i = 0; i < n; i++)
        q[i] = (int16_t)ek_dynamic_code(h[i], scale, *zero);
    return scale;
}

/* Sixteen sums of a gate, or `width`. `total` is the sum of what the state stands for. */
EK_INLINE void EK_FN_block(const float *EK_RESTRICT x, const int8_t *EK_RESTRICT r,
    const int32_t *EK_RESTRICT sums, const float *EK_RESTRICT scale, const int32_t *EK_RESTRICT zero,
    const int16_t *EK_RESTRICT q, float *EK_RESTRICT gate, const float h_scale, const int32_t h_zero,
    const int32_t total, const int32_t width, const int32_t size)
{
    int32_t sum[16];
    for (int32_t o = 0; o < width; o++)
        sum[o] = -h_zero * sums[o] - zero[o] * total;
    for (int32_t i = 0; i < size; i++) {
        EK_SIDE_BY_SIDE
        for (int32_t o = 0; o < width; o++)
            sum[o] += q[i] * r[i * width + o];
    }
    for (int32_t o = 0; o < width; o++)
        gate[o] = x[o] + (float)sum[o] * (h_scale * scale[o]);
}

EK_INLINE void EK_FN_sums(const float *EK_RESTRICT x, const int8_t *EK_RESTRICT r,
    const int32_t *EK_RESTRICT sums, const float *EK_RESTRICT scale, const int32_t *EK_RESTRICT zero,
    const int16_t *EK_RESTRICT q, float *EK_RESTRICT gate, const float h_scale, const int32_t h_zero,
    const int32_t size)
{
    int32_t total = -h_zero * size;
    for (int32_t i = 0; i < size; i++)
        total += q[i];
    for (int32_t k = 0; k < 4 * size; k += size)
        for (int32_t o = 0; o < size; o += 16) {
            const int32_t at = k + o, left = size - o;
            if (left >= 16)
                EK_FN_block(x + at, r + at * size, sums + at, scale + at, zero + at, q, gate + at, h_scale,
                    h_zero, total, 16, size);
            else
                EK_FN_block(x + at, r + at * size, sums + at, scale + at, zero + at, q, gate + at, h_scale,
                    h_zero, total, left, size);
        }
}

EK_KERNEL void EK_FN(const float *EK_RESTRICT x, const int8_t *EK_RESTRICT r, const int32_t *EK_RESTRICT sums,
    const float *EK_RESTRICT scale, const int32_t *EK_RESTRICT zero, const float *EK_RESTRICT h0,
    const float *EK_RESTRICT c0, float *EK_RESTRICT y, float *EK_RESTRICT h, float *EK_RESTRICT c,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t size = p->size, all = p->batch * size;
    float *const gate = (float *)(void *)scratch;
    int16_t *const q = (int16_t *)(void *)(scratch + 16 * size);
    ek_dynamic_lstm_start(h0, c0, h, c, all);
    for (int32_t step = 0; step < p->steps; step++) {
        const int32_t t = p->reverse ? p->steps - 1 - step : step;
        int32_t h_zero;
        const float h_scale = EK_FN_state(h, q, &h_zero, all);
        for (int32_t n = 0; n < all; n += size) {
            EK_FN_sums(x + 4 * (t * all + n), r, sums, scale, zero, q + n, gate, h_scale, h_zero, size);
            ek_dynamic_lstm_step(gate, h + n, c + n, size);
        }
        for (int32_t i = 0; i < all; i++)
            y[t * all + i] = h[i];
    }
}
