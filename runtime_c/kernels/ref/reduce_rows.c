/* Reduction of the last dimension, and of others. A result advances in sixteen lanes, which compilers vectorise, and
 * which are reduced in the end.
 * @work calls, inputs */
#include "edgekit/contracts/reduce_rows.h"

EK_INLINE EK_T_ACC EK_FN_step(const EK_T_ACC a, const EK_T_ACC b)
{
    return EK_EXPR;
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t i0 = 0; i0 < p->n[0]; i0++)
        for (int32_t i1 = 0; i1 < p->n[1]; i1++)
            for (int32_t i2 = 0; i2 < p->n[2]; i2++)
                for (int32_t i3 = 0; i3 < p->n[3]; i3++) {
                    const EK_T *from = x + i0 * p->x_n[0] + i1 * p->x_n[1] + i2 * p->x_n[2] + i3 * p->x_n[3];
                    EK_T_ACC lane[16];
                    for (int32_t l = 0; l < 16; l++)
                        lane[l] = p->start;
                    for (int32_t r0 = 0; r0 < p->r[0]; r0++)
                        for (int32_t r1 = 0; r1 < p->r[1]; r1++)
                            for (int32_t r2 = 0; r2 < p->r[2]; r2++)
                                for (int32_t r3 = 0; r3 < p->r[3]; r3++) {
                                    const EK_T *row = from + r0 * p->x_r[0] + r1 * p->x_r[1] + r2 * p->x_r[2]
                                                      + r3 * p->x_r[3];
                                    int32_t c = 0;
                                    for (; c + 16 <= p->last; c += 16) {
                                        EK_SIDE_BY_SIDE
                                        for (int32_t l = 0; l < 16; l++)
                                            lane[l] = EK_FN_step(lane[l], EK_LOAD_T(row[c + l]));
                                    }
                                    for (int32_t l = 0; c + l < p->last; l++)
                                        lane[l] = EK_FN_step(lane[l], EK_LOAD_T(row[c + l]));
                                }
                    EK_T_ACC result = lane[0];
                    for (int32_t l = 1; l < 16; l++)
                        result = EK_FN_step(result, lane[l]);
                    *y++ = EK_STORE_T(result / p->divisor);
                }
}
