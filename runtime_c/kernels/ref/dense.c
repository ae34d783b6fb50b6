/* Fully connected layer. Sixteen outputs advance together, so that compilers vectorise over them and every output is
 * still summed in the order of i.
 * @also dense_scaled @pack w: O/16 I o16 @order rows 16
 * @work clamped outputs, odd outputs, outputs, padded products, products by 16 outputs
 * @work products by 64 outputs, weights */
#include "edgekit/contracts/dense.h"

EK_INLINE void EK_FN_block(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_IF_SCALE(const EK_B *EK_RESTRICT s, ) EK_T *EK_RESTRICT y, const int32_t width,
    const struct EK_STRUCT *p)
{
    EK_T_ACC sum[16];
    for (int32_t o = 0; o < width; o++)
        sum[o] = EK_LOAD_B(b[o]);
    for (int32_t i = 0; i < p->inputs; i++) {
        EK_SIDE_BY_SIDE
        for (int32_t o = 0; o < width; o++)
            sum[o] += EK_LOAD_T(x[i]) * EK_LOAD_W(w[i * width + o]);
    }
    for (int32_t o = 0; o < width; o++) {
        EK_IF_SCALE(sum[o] *= EK_LOAD_B(s[o]);)
        const EK_T_ACC v = sum[o];
        y[o] = EK_STORE_T(v < p->lo ? p->lo : v > p->hi ? p->hi : v);
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_IF_SCALE(const EK_B *EK_RESTRICT scale, ) EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs, y += p->outputs) {
        int32_t o = 0;
        for (; o + 16 <= p->outputs; o += 16)
            EK_FN_block(x, w + o * p->inputs, b + o, EK_IF_SCALE(scale + o, ) y + o, 16, p);
        if (o < p->outputs)
            EK_FN_block(x, w + o * p->inputs, b + o, EK_IF_SCALE(scale + o, ) y + o, p->outputs - o, p);
    }
}
