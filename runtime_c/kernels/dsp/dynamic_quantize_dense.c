/* Fully connected layer of what was quantized in this run, with DSP instructions: four outputs of a row advance together,
 * four products each.
 * @pack w: O/4! I/4! o4 i4 @pack sums: O/4! o4 @pack scale: O/4! o4 @pack b: O/4! o4
 * @work calls, outputs, padded outputs, padded products, positions */
#include "edgekit/contracts/dynamic_quantize_dense.h"
#include "edgekit/simd/cortex_m/elementwise_dsp.h"

/* Adds the products of fours of numbers, and returns the weights behind theirs. */
EK_INLINE const int8_t *EK_FN_fours(
    const int8_t *x, const int8_t *const end, const int8_t *w, int32_t *EK_RESTRICT sum)
{
    int32_t s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
    for (; x < end; x += 4, w += 16) {
        const struct ek_four four = ek_four_signed(x);
        s0 = ek_four_products(w, four, s0);
        s1 = ek_four_products(w + 4, four, s1);
        s2 = ek_four_products(w + 8, four, s2);
        s3 = ek_four_products(w + 12, four, s3);
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
    return w;
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const float *EK_RESTRICT x_scale,
    const int8_t *EK_RESTRICT x_zero, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT sums,
    const float *EK_RESTRICT scale, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    const int32_t zero = *x_zero, rest = p->inputs % 4, whole = p->inputs - rest;
    const float s = *x_scale;
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs, y += p->outputs) {
        const int8_t *weights = w;
        int8_t last[4] = {0, 0, 0, 0};
        for (int32_t i = 0; i < rest; i++)
            last[i] = x[whole + i];
        for (int32_t o = 0; o < p->outputs; o += 4) {
            int32_t sum[4] = {0, 0, 0, 0};
            weights = EK_FN_fours(x, x + whole, weights, sum);
            if (rest)
                weights = EK_FN_fours(last, last + 4, weights, sum);
            for (int32_t k = o; k < p->outputs && k < o + 4; k++) {
                const float factor = s * scale[k], product = factor * (float)(sum[k - o] - zero * sums[k]);
                y[k] = product + b[k];
            }
        }
    }
}
