/* Fully connected layer of rows that were quantized in this run. Sixteen outputs advance together, a group at a time.
 * @pack w: O/16 I o16 @pack scale: O/16 I o16 */
#include "edgekit/contracts/dynamic_dense.h"

/* `width` outputs of one row, from output `first` on. */
EK_INLINE void EK_FN_block(const int8_t *EK_RESTRICT x, const float s, const EK_W *EK_RESTRICT w,
    const EK_C *EK_RESTRICT scale, const float *EK_RESTRICT b, float *EK_RESTRICT y, const int32_t first,
    const int32_t width, const struct EK_STRUCT *p)
{
    int32_t at = first * p->inputs, group_at = first * ((p->inputs + p->group - 1) / p->group);
    float total[16] = {0};
    for (int32_t start = 0; start < p->inputs; start += p->group, group_at += width) {
        const int32_t left = p->inputs - start, end = start + (left < p->group ? left : p->group);
        int32_t sum[16] = {0};
        for (int32_t i = start; i < end; i++, at += width) {
            const int32_t v = x[i];
            EK_SIDE_BY_SIDE
            for (int32_t o = 0; o < width; o++)
                sum[o] += v * EK_AT_W(w, at + o);
        }
        for (int32_t o = 0; o < width; o++) {
            const float part = EK_LOAD_C(scale[group_at + o]) * (float)sum[o];
            total[o] += part;
        }
    }
    for (int32_t o = 0; o < width; o++) {
        const float product = total[o] * s, v = product + b[first + o];
        y[o] = v < p->lo ? p->lo : v > p->hi ? p->hi : v;
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const float *EK_RESTRICT s, const EK_W *EK_RESTRICT w,
    const EK_C *EK_RESTRICT scale, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs, y += p->outputs) {
        int32_t o = 0;
        for (; o + 16 <= p->outputs; o += 16)
            EK_FN_block(x, s[r], w, scale, b, y + o, o, 16, p);
        if (o < p->outputs)
            EK_FN_block(x, s[r], w, scale, b, y + o, o, p->outputs - o, p);
    }
}
