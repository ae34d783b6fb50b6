/* Fully connected layer of weights of four bits with a scale for each group, with a scalar FPU. A word holds the
 * weights of eight outputs for one input, each 8 more than it is: eight times the sum of the inputs is taken off for
 * each group.
 * @for T=f32 W=s4 B=f32 @also dense_groupwise_symmetric @pack w: O/8! I o8 : +8 u4 @pack scale: O/8! I o8
 * @pack zero: O/8 I o8 @pack b: O/8! o8 */
#include "edgekit/contracts/dense_groupwise.h"

/* Adds products of `count` inputs to eight sums; returns the sum of the inputs. */
EK_INLINE float EK_FN_products(
    const float *EK_RESTRICT x, const uint8_t *EK_RESTRICT w, const int32_t count, float *EK_RESTRICT part)
{
    float a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, total = 0;
    for (int32_t i = 0; i < count; i++, w += 4) {
        const float v = x[i];
        const uint32_t all = w[0] | (uint32_t)w[1] << 8 | (uint32_t)w[2] << 16 | (uint32_t)w[3] << 24;
        total += v;
        a = __builtin_fmaf(v, (float)(int32_t)(all & 15), a);
        b = __builtin_fmaf(v, (float)(int32_t)(all >> 4 & 15), b);
        c = __builtin_fmaf(v, (float)(int32_t)(all >> 8 & 15), c);
        d = __builtin_fmaf(v, (float)(int32_t)(all >> 12 & 15), d);
        e = __builtin_fmaf(v, (float)(int32_t)(all >> 16 & 15), e);
        f = __builtin_fmaf(v, (float)(int32_t)(all >> 20 & 15), f);
        g = __builtin_fmaf(v, (float)(int32_t)(all >> 24 & 15), g);
        h = __builtin_fmaf(v, (float)(int32_t)(all >> 28), h);
    }
    part[0] = a;
    part[1] = b;
    part[2] = c;
    part[3] = d;
    part[4] = e;
    part[5] = f;
    part[6] = g;
    part[7] = h;
    return total;
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_C *EK_RESTRICT scale,
    EK_IF_ZERO(const EK_Z *EK_RESTRICT zero, ) const EK_B *EK_RESTRICT b, EK_T *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs) {
        const uint8_t *weights = (const uint8_t *)(const void *)w;
        int32_t at = 0, zero_at = 0;
        for (int32_t first = 0; first < p->outputs; first += 8) {
            const int32_t rest = p->outputs - first, width = rest < 8 ? rest : 8;
            float sum[8];
            for (int32_t o = 0; o < 8; o++)
                sum[o] = b[first + o];
            for (int32_t start = 0; start < p->inputs; start += p->group, at += 8, zero_at += width) {
                const int32_t left = p->inputs - start, count = left < p->group ? left : p->group;
                float part[8];
                const float total = EK_FN_products(x + start, weights, count, part);
                weights += 4 * count;
                for (int32_t o = 0; o < width; o++) {
                    float off = 8;
                    EK_IF_ZERO(off += EK_LOAD_Z(EK_AT_Z(zero, zero_at + o));)
                    sum[o] = __builtin_fmaf(EK_LOAD_C(scale[at + o]), part[o] - total * off, sum[o]);
                }
            }
            for (int32_t o = 0; o < width; o++) {
                const float v = sum[o];
                *y++ = v < p->lo ? p->lo : v > p->hi ? p->hi : v;
            }
        }
    }
}
