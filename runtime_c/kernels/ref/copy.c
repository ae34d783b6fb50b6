/* Strided copy.
 * @work calls, inputs, long row blocks, positions, short row cells, strided row cells */
#include "edgekit/contracts/copy.h"

EK_KERNEL void EK_FN(const EK_T *x, EK_T *y, const struct EK_STRUCT *p)
{
    for (int32_t i0 = 0; i0 < p->n[0]; i0++)
        for (int32_t i1 = 0; i1 < p->n[1]; i1++)
            for (int32_t i2 = 0; i2 < p->n[2]; i2++)
                for (int32_t i3 = 0; i3 < p->n[3]; i3++)
                    for (int32_t i4 = 0; i4 < p->n[4]; i4++) {
                        const EK_T *from = x + p->x0 + i0 * p->x[0] + i1 * p->x[1] + i2 * p->x[2]
                                           + i3 * p->x[3] + i4 * p->x[4];
                        EK_T *to = y + p->y0 + i0 * p->y[0] + i1 * p->y[1] + i2 * p->y[2] + i3 * p->y[3]
                                   + i4 * p->y[4];
                        for (int32_t i = 0; i < p->n[5]; i++)
                            to[i * p->y[5]] = from[i * p->x[5]];
                    }
}
