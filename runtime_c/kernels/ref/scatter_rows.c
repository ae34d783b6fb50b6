/* Rows that replace others.
 * @count written cells: outer * count * n
 * @work calls, written cells */
#include "edgekit/contracts/scatter_rows.h"

EK_KERNEL void EK_FN(const EK_T *x, const EK_I *EK_RESTRICT index, const EK_T *EK_RESTRICT u, EK_T *y,
    const struct EK_STRUCT *p)
{
    if (y != x)
        for (int32_t i = 0; i < p->outer * p->rows * p->n; i++)
            y[i] = x[i];
    for (int32_t o = 0; o < p->outer; o++, y += p->rows * p->n)
        for (int32_t j = 0; j < p->count; j++, u += p->n) {
            EK_I_ACC k = EK_LOAD_I(index[j]);
            k = k < 0 ? k + p->rows : k;
            k = k < 0 ? 0 : k < p->rows ? k : p->rows - 1;
            for (int32_t i = 0; i < p->n; i++)
                y[(int32_t)k * p->n + i] = u[i];
        }
}
