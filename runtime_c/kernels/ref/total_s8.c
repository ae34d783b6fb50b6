/* int8 sum or mean of dimensions.
 * @work calls, inputs, outputs */
/* int8 sum or mean of dimensions with Helium: compilers find the vectors.
 * @as mve/total_s8 @work calls, inputs */
#include "edgekit/contracts/total_s8.h"

/* What is reduced to one result. */
EK_INLINE int32_t EK_FN_sum(const int8_t *EK_RESTRICT x, const struct EK_STRUCT *p)
{
    int32_t sum = 0;
    for (int32_t r0 = 0; r0 < p->r[0]; r0++)
        for (int32_t r1 = 0; r1 < p->r[1]; r1++)
            for (int32_t r2 = 0; r2 < p->r[2]; r2++)
                for (int32_t r3 = 0; r3 < p->r[3]; r3++) {
                    const int8_t *row = x + r0 * p->x_r[0] + r1 * p->x_r[1] + r2 * p->x_r[2] + r3 * p->x_r[3];
                    for (int32_t r4 = 0; r4 < p->r[4]; r4++)
                        sum += row[r4 * p->x_r[4]] - p->x_zero;
                }
    return sum;
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, int8_t *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t i0 = 0; i0 < p->n[0]; i0++)
        for (int32_t i1 = 0; i1 < p->n[1]; i1++)
            for (int32_t i2 = 0; i2 < p->n[2]; i2++)
                for (int32_t i3 = 0; i3 < p->n[3]; i3++)
                    for (int32_t i4 = 0; i4 < p->n[4]; i4++) {
                        const int32_t acc = EK_FN_sum(x + i0 * p->x_n[0] + i1 * p->x_n[1] + i2 * p->x_n[2]
                                                          + i3 * p->x_n[3] + i4 * p->x_n[4],
                            p);
                        *y++ = ek_clamp_s8(p->zero + EK_EXPR, p->lo, p->hi);
                    }
}
