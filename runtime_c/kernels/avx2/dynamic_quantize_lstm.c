/* Long short-term memory with dynamic quantization. Codes of the state less 128 are signed bytes: the sums of weights
 * correct that. See dynamic_rows_avx2.h.
 * @when size % 16 == 0 @pack r: G O/16! I/4! o16 i4 @scratch (32 + batch) * size */
/* With VNNI.
 * @as avxvnni/dynamic_quantize_lstm */
/* Thirty-two sums at a time, of two gates where they have no more.
 * @as avx512/dynamic_quantize_lstm @pack r: O/32! I/4! o32 i4 */
/* By SDOT.
 * @as dotprod/dynamic_quantize_lstm */
/* By SMMLA, eight weights of a sum side by side.
 * @as i8mm/dynamic_quantize_lstm @pack r: G O/16! I/8! o16 i8 */
/* In WebAssembly with relaxed vectors.
 * @as relaxed/dynamic_quantize_lstm */
/* In WebAssembly and by NEON without dot products, two weights of a sum side by side.
 * @as wasm/dynamic_quantize_lstm, neon/dynamic_quantize_lstm, neon32/dynamic_quantize_lstm
 * @pack r: G O/16! I/2! o16 i2 */
#include "edgekit/contracts/dynamic_quantize_lstm.h"

/* What the gates get from bytes: sums of products with weights. */
EK_INLINE void EK_FN_products(const int8_t *EK_RESTRICT q, const int8_t *EK_RESTRICT r,
    int32_t *EK_RESTRICT products, const int32_t size)
{
    int32_t total = 0;
    for (int32_t i = 0; i < size; i++)
        total += q[i];
    for (int32_t o = 0; o < 4 * size; o += EK_DR_BLOCK) {
        ek_dr_ints sum[EK_DR_VECTORS(EK_S8_KIND)];
        EK_UNROLLED_FOR(8, int32_t k = 0; k < EK_DR_VECTORS(EK_S8_KIND); k++)
            sum[k] = ek_dr_same(total * -EK_DR_OFFSET(EK_S8_KIND));
        ek_dr_products(sum, q, size, r + o * size, size, 1, EK_S8_KIND);
        __builtin_memcpy(products + o, sum, sizeof sum);
    }
}

/* The state as bytes; returns its scale, and what all codes are less than the integers that they stand for. */
EK_INLINE float EK_FN_state(
    const float *EK_RESTRICT h, int8_t *EK_RESTRICT q, int32_t *EK_RESTRICT zero, const int32_t n)
{
    float scale;
    *zero = ek_dynamic_range(h, n, &scale);
    for (int32_t i = 0; i < n; i++)
        q[i] = (int8_t)(ek_dynamic_code(h[i], scale, *zero) - 128);
    return scale;
}

EK_KERNEL void EK_FN(const float *EK_RESTRICT x, const int8_t *EK_RESTRICT r, const int32_t *EK_RESTRICT sums,
    const float *EK_RESTRICT scale, const int32_t *EK_RESTRICT zero, const float *EK_RESTRICT h0,
    const float *EK_RESTRICT c0, float *EK_RESTRICT y, float *EK_RESTRICT h, float *EK_RESTRICT c,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t size = p->size, all = p->batch * size;
    float *const gate = (float *)(void *)scratch;
    int32_t *const products = (int32_t *)(void *)(scratch + 16 * size);
    int8_t *const q = (int8_t *)(products + 4 * size);
    ek_dynamic_lstm_start(h0, c0, h, c, all);
    for (int32_t step = 0; step < p->steps; step++) {
        const int32_t t = p->reverse ? p->steps - 1 - step : step;
        int32_t h_zero;
        const float h_scale = EK_FN_state(h, q, &h_zero, all);
        for (int32_t n = 0; n < all; n += size) {
            const float *const from = x + 4 * (t * all + n);
            int32_t total = 0;
            for (int32_t i = 0; i < size; i++)
                total += q[n + i] + 128 - h_zero;
            EK_FN_products(q + n, r, products, size);
            for (int32_t o = 0; o < 4 * size; o++) {
                const int32_t sum = products[o] + (128 - h_zero) * sums[o] - zero[o] * total;
                gate[o] = from[o] + (float)sum * (h_scale * scale[o]);
            }
            ek_dynamic_lstm_step(gate, h + n, c + n, size);
        }
        for (int32_t i = 0; i < all; i++)
            y[t * all + i] = h[i];
    }
}
