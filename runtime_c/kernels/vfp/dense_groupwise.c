/* Fully connected layer of weights of eight bits with a scale for each group, with a scalar FPU. A word holds the
 * weights of four outputs for one input.
 * @for T=f32 W=s8 B=f32 @also dense_groupwise_symmetric @pack w: O/4! I o4 @pack scale: O/4! I o4
 * @pack zero: O/4! I o4 @pack b: O/4! o4 */
#include "edgekit/contracts/dense_groupwise.h"

/* Adds products of `count` inputs to four sums; returns the sum of the inputs where weights have zero points. */
EK_INLINE float EK_FN_products(
    const float *EK_RESTRICT x, const int8_t *EK_RESTRICT w, const int32_t count, float *EK_RESTRICT part)
{
    float a = 0, b = 0, c = 0, d = 0, total = 0;
    for (int32_t i = 0; i < count; i++, w += 4) {
        const float v = x[i];
        EK_IF_ZERO(total += v;)
        a = __builtin_fmaf(v, (float)w[0], a);
        b = __builtin_fmaf(v, (float)w[1], b);
        c = __builtin_fmaf(v, (float)w[2], c);
        d = __builtin_fmaf(v, (float)w[3], d);
    }
    part[0] = a;
    part[1] = b;
    part[2] = c;
    part[3] = d;
    return total;
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_C *EK_RESTRICT scale,
    EK_IF_ZERO(const EK_Z *EK_RESTRICT zero, ) const EK_B *EK_RESTRICT b, EK_T *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs) {
        const int8_t *weights = w;
        int32_t at = 0;
        for (int32_t first = 0; first < p->outputs; first += 4) {
            const int32_t rest = p->outputs - first, width = rest < 4 ? rest : 4;
            float sum[4] = {b[first], b[first + 1], b[first + 2], b[first + 3]};
            for (int32_t start = 0; start < p->inputs; start += p->group, at += 4) {
                const int32_t left = p->inputs - start, count = left < p->group ? left : p->group;
                float part[4];
                const float total = EK_FN_products(x + start, weights, count, part);
                (void)total; /* of use where weights have zero points */
                weights += 4 * count;
                for (int32_t o = 0; o < 4; o++) {
                    EK_IF_ZERO(part[o] -= total * EK_LOAD_Z(EK_AT_Z(zero, at + o));)
                    sum[o] = __builtin_fmaf(EK_LOAD_C(scale[at + o]), part[o], sum[o]);
                }
            }
            for (int32_t o = 0; o < width; o++) {
                const float v = sum[o];
                *y++ = v < p->lo ? p->lo : v > p->hi ? p->hi : v;
            }
        }
    }
}
