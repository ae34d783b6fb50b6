/* Long short-term memory: see lstm.h.
 * pack r: O/16 I o16 */
#include "edgekit/lstm.h"

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

EK_INLINE void EK_FN_gates(const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT r, const EK_T *EK_RESTRICT h,
    EK_T *EK_RESTRICT gate, const int32_t outputs, const int32_t size)
{
    int32_t o = 0;
    for (; o + 16 <= outputs; o += 16)
        EK_FN_block(x + o, r + o * size, h, gate + o, 16, size);
    if (o < outputs)
        EK_FN_block(x + o, r + o * size, h, gate + o, outputs - o, size);
}

/* One step of one sequence: h and c become what they are after the gates. */
EK_INLINE void EK_FN_step(
    const EK_T *EK_RESTRICT gate, EK_T *EK_RESTRICT h, EK_T *EK_RESTRICT c, const int32_t size)
{
    for (int32_t i = 0; i < size; i++) {
        const EK_T_ACC in = EK_MATH_T(sigmoid)(gate[i]), keep = EK_MATH_T(sigmoid)(gate[2 * size + i]);
        c[i] = keep * c[i] + in * EK_MATH_T(tanh)(gate[3 * size + i]);
    }
    for (int32_t i = 0; i < size; i++)
        h[i] = EK_MATH_T(sigmoid)(gate[size + i]) * EK_MATH_T(tanh)(c[i]);
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT r, const EK_T *EK_RESTRICT h0,
    const EK_T *EK_RESTRICT c0, EK_T *EK_RESTRICT y, EK_T *EK_RESTRICT h, EK_T *EK_RESTRICT c,
    EK_T *EK_RESTRICT gate, const struct EK_STRUCT *p)
{
    const int32_t size = p->size, all = p->batch * size;
    for (int32_t i = 0; i < all; i++) {
        h[i] = h0[i];
        c[i] = c0[i];
    }
    for (int32_t step = 0; step < p->steps; step++) {
        const int32_t t = p->reverse ? p->steps - 1 - step : step;
        for (int32_t n = 0; n < p->batch; n++) {
            EK_FN_gates(x + 4 * (t * all + n * size), r, h + n * size, gate, 4 * size, size);
            EK_FN_step(gate, h + n * size, c + n * size, size);
            for (int32_t i = 0; i < size; i++)
                y[t * all + n * size + i] = h[n * size + i];
        }
    }
}
