/* Plain recurrent layer: see rnn.h.
 * pack r: O/16 I o16 */
#include "edgekit/rnn.h"

/* gate[o] = x[o] + sum over i of r[o][i] h[i]: sixteen outputs advance together, so that compilers vectorise. */
EK_INLINE void EK_FN_block(const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT r, const EK_T *EK_RESTRICT h,
    EK_T *EK_RESTRICT gate, const int32_t width, const int32_t size)
{
    EK_T_ACC sum[16];
    for (int32_t o = 0; o < width; o++)
        sum[o] = x[o];
    for (int32_t i = 0; i < size; i++) {
        EK_SIDE_BY_SIDE
        for (int32_t o = 0; o < width; o++)
            sum[o] += h[i] * r[i * width + o];
    }
    for (int32_t o = 0; o < width; o++)
        gate[o] = sum[o];
}

EK_INLINE void EK_FN_gate(const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT r, const EK_T *EK_RESTRICT h,
    EK_T *EK_RESTRICT gate, const int32_t size)
{
    int32_t o = 0;
    for (; o + 16 <= size; o += 16)
        EK_FN_block(x + o, r + o * size, h, gate + o, 16, size);
    if (o < size)
        EK_FN_block(x + o, r + o * size, h, gate + o, size - o, size);
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT r, const EK_T *EK_RESTRICT h0,
    EK_T *EK_RESTRICT y, EK_T *EK_RESTRICT h, EK_T *EK_RESTRICT gate, const struct EK_STRUCT *p)
{
    const int32_t size = p->size, all = p->batch * size;
    for (int32_t i = 0; i < all; i++)
        h[i] = h0[i];
    for (int32_t step = 0; step < p->steps; step++) {
        const int32_t t = p->reverse ? p->steps - 1 - step : step;
        for (int32_t n = 0; n < p->batch; n++) {
            EK_T *state = h + n * size, *out = y + t * all + n * size;
            EK_FN_gate(x + t * all + n * size, r, state, gate, size);
            for (int32_t i = 0; i < size; i++) {
                const EK_T_ACC a = gate[i];
                state[i] = EK_EXPR;
                out[i] = state[i];
            }
        }
    }
}
