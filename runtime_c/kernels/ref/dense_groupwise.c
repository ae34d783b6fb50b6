/* Fully connected layer of weights with a scale for each group. Sixteen outputs advance together, a group at a time:
 * what is added up in a group gets its scale, and the zero point, once.
 * @also dense_groupwise_symmetric @pack w: O/16 I o16 @pack scale: O/16 I o16 @pack zero: O/16 I o16
 * @order rows 16 @work padded products 1 */
#include "edgekit/contracts/dense_groupwise.h"

/* `width` outputs of one row, from output `first` on. */
EK_INLINE void EK_FN_block(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w,
    const EK_C *EK_RESTRICT scale, EK_IF_ZERO(const EK_Z *EK_RESTRICT zero, ) const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const int32_t first, const int32_t width, const struct EK_STRUCT *p)
{
    int32_t at = first * p->inputs, group_at = first * ((p->inputs + p->group - 1) / p->group);
    EK_T_ACC sum[16];
    for (int32_t o = 0; o < width; o++)
        sum[o] = EK_LOAD_B(b[first + o]);
    for (int32_t start = 0; start < p->inputs; start += p->group) {
        const int32_t left = p->inputs - start, count = left < p->group ? left : p->group;
        EK_T_ACC part[16];
        EK_IF_ZERO(EK_T_ACC total = 0;)
        for (int32_t o = 0; o < width; o++)
            part[o] = 0;
        for (int32_t i = start; i < start + count; i++) {
            EK_IF_ZERO(total += EK_LOAD_T(x[i]);)
            EK_SIDE_BY_SIDE
            for (int32_t o = 0; o < width; o++)
                part[o] += EK_LOAD_T(x[i]) * EK_LOAD_W(EK_AT_W(w, at + o));
            at += width;
        }
        for (int32_t o = 0; o < width; o++) {
            EK_IF_ZERO(part[o] -= total * EK_LOAD_Z(EK_AT_Z(zero, group_at + o));)
            sum[o] += EK_LOAD_C(scale[group_at + o]) * part[o];
        }
        group_at += width;
    }
    for (int32_t o = 0; o < width; o++) {
        const EK_T_ACC v = sum[o];
        y[o] = EK_STORE_T(v < p->lo ? p->lo : v > p->hi ? p->hi : v);
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_C *EK_RESTRICT scale,
    EK_IF_ZERO(const EK_Z *EK_RESTRICT zero, ) const EK_B *EK_RESTRICT b, EK_T *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs, y += p->outputs) {
        int32_t o = 0;
        for (; o + 16 <= p->outputs; o += 16)
            EK_FN_block(x, w, scale, EK_IF_ZERO(zero, ) b, y + o, o, 16, p);
        if (o < p->outputs)
            EK_FN_block(x, w, scale, EK_IF_ZERO(zero, ) b, y + o, o, p->outputs - o, p);
    }
}
