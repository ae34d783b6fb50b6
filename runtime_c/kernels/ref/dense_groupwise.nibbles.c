/* Fully connected layer of weights of four bits with a scale for each group. Sixteen outputs advance together. A byte
 * holds the weights of two that are eight apart, so that compilers vectorise over eight.
 * @for W=s4 @also dense_groupwise_symmetric @when outputs >= 16 @pack w: O/16! I o16(zip8) : +8 u4
 * @pack scale: O/16 I o16 @pack zero: O/16 I o16 @work padded products 0.95 */
#include "edgekit/dense_groupwise.h"

/* Sums of products of `count` inputs; returns the sum of these. */
EK_INLINE EK_T_ACC EK_FN_products(
    const EK_T *EK_RESTRICT x, const uint8_t *EK_RESTRICT w, const int32_t count, EK_T_ACC *EK_RESTRICT part)
{
    EK_T_ACC total = 0, weights[16], sum[16] = {0};
    for (int32_t i = 0; i < count; i++, w += 8) {
        const EK_T_ACC v = EK_LOAD_T(x[i]);
        total += v;
        for (int32_t o = 0; o < 8; o++) {
            weights[o] = (EK_T_ACC)((w[o] & 15) - 8);
            weights[8 + o] = (EK_T_ACC)((w[o] >> 4) - 8);
        }
        EK_SIDE_BY_SIDE
        for (int32_t o = 0; o < 16; o++)
            sum[o] += v * weights[o];
    }
    for (int32_t o = 0; o < 16; o++)
        part[o] = sum[o];
    return total;
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_C *EK_RESTRICT scale,
    EK_IF_ZERO(const EK_Z *EK_RESTRICT zero, ) const EK_B *EK_RESTRICT b, EK_T *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs) {
        const uint8_t *pairs = (const uint8_t *)(const void *)w;
        int32_t group_at = 0;
        for (int32_t first = 0; first < p->outputs; first += 16) {
            const int32_t rest = p->outputs - first, width = rest < 16 ? rest : 16;
            EK_T_ACC sum[16] = {0};
            for (int32_t o = 0; o < width; o++)
                sum[o] = EK_LOAD_B(b[first + o]);
            for (int32_t start = 0; start < p->inputs; start += p->group, group_at += width) {
                const int32_t left = p->inputs - start, count = left < p->group ? left : p->group;
                EK_T_ACC part[16];
                const EK_T_ACC total = EK_FN_products(x + start, pairs, count, part);
                pairs += 8 * count;
                (void)total; /* of use where weights have zero points */
                for (int32_t o = 0; o < width; o++) {
                    EK_IF_ZERO(part[o] -= total * EK_LOAD_Z(EK_AT_Z(zero, group_at + o));)
                    sum[o] += EK_LOAD_C(scale[group_at + o]) * part[o];
                }
            }
            for (int32_t o = 0; o < width; o++) {
                const EK_T_ACC v = sum[o];
                *y++ = EK_STORE_T(v < p->lo ? p->lo : v > p->hi ? p->hi : v);
            }
        }
    }
}
