/* Fully connected layer of rows that were quantized in this run, with DSP instructions: see pair_dots_dsp.h. Eight outputs
 * advance together, a group at a time.
 * @for W=s8
 * @when inputs % 4 == 0 and group % 4 == 0
 * @when group <= 512 and least_weight > -128
 * @pack w: O/8! I/4! o8 i4 : carry s8
 * @pack scale: O/8! I o8
 * @pack b: O/8! o8 */
#include "edgekit/contracts/dynamic_dense.h"
#include "edgekit/simd/cortex_m/pair_dots_dsp.h"

/* A result, of a sum of which 256 times as much is given. */
EK_INLINE float EK_FN_finished(const float total, const float s, const float b, const struct EK_STRUCT *p)
{
    const float sum = total * 0.00390625f; /* 1 / 256, without a rounding */
    const float product = sum * s, v = product + b;
    return v < p->lo ? p->lo : v > p->hi ? p->hi : v;
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const float *EK_RESTRICT s, const EK_W *EK_RESTRICT w,
    const EK_C *EK_RESTRICT scale, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs) {
        const int8_t *weights = w;
        const EK_C *scales = scale;
        const float *bias = b;
        const float row = s[r];
        for (int32_t first = 0; first < p->outputs; first += 8) {
            const int32_t rest = p->outputs - first, width = rest < 8 ? rest : 8;
            int32_t sums[8];
            float total[8] = {0};
            int32_t start = 0;
            for (; start + p->group < p->inputs; start += p->group, scales += 8) {
                weights = ek_pair_dots(x + start, weights, x + start + p->group, sums);
                for (int32_t o = 0; o < 8; o++) {
                    const float part = EK_LOAD_C(scales[o]) * (float)sums[o];
                    total[o] += part;
                }
            }
            weights = ek_pair_dots(x + start, weights, x + p->inputs, sums);
            for (int32_t o = 0; o < width; o++) {
                const float part = EK_LOAD_C(scales[o]) * (float)sums[o];
                *y++ = EK_FN_finished(total[o] + part, row, *bias++, p);
            }
            scales += 8;
        }
    }
}
