/* Reduction of dimensions before the last. Sixteen results advance together, so that compilers vectorise over them
 * and every result still takes its elements in order.
 * @work calls, inputs, outputs */
#include "edgekit/contracts/reduce.h"

EK_INLINE void EK_FN_block(
    const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, const int32_t width, const struct EK_STRUCT *p)
{
    EK_T_ACC result[16];
    for (int32_t c = 0; c < width; c++)
        result[c] = p->start;
    for (int32_t r0 = 0; r0 < p->r[0]; r0++)
        for (int32_t r1 = 0; r1 < p->r[1]; r1++)
            for (int32_t r2 = 0; r2 < p->r[2]; r2++)
                for (int32_t r3 = 0; r3 < p->r[3]; r3++) {
                    const EK_T *row = x + r0 * p->x_r[0] + r1 * p->x_r[1] + r2 * p->x_r[2] + r3 * p->x_r[3];
                    EK_SIDE_BY_SIDE
                    for (int32_t c = 0; c < width; c++) {
                        const EK_T_ACC a = result[c], b = EK_LOAD_T(row[c]);
                        result[c] = EK_EXPR;
                    }
                }
    for (int32_t c = 0; c < width; c++)
        y[c] = EK_STORE_T(result[c] / p->divisor);
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t i0 = 0; i0 < p->n[0]; i0++)
        for (int32_t i1 = 0; i1 < p->n[1]; i1++)
            for (int32_t i2 = 0; i2 < p->n[2]; i2++)
                for (int32_t i3 = 0; i3 < p->n[3]; i3++, y += p->last) {
                    const EK_T *from = x + i0 * p->x_n[0] + i1 * p->x_n[1] + i2 * p->x_n[2] + i3 * p->x_n[3];
                    int32_t c = 0;
                    for (; c + 16 <= p->last; c += 16)
                        EK_FN_block(from + c, y + c, 16, p);
                    if (c < p->last)
                        EK_FN_block(from + c, y + c, p->last - c, p);
                }
}
