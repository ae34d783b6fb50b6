/* The k best elements in order. Each element is inserted into the best so far. */
#include "edgekit/contracts/topk.h"

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, int64_t *EK_RESTRICT at, const struct EK_STRUCT *p)
{
    const int32_t step = p->inner;
    for (int32_t o = 0; o < p->outer; o++, x += p->n * step, y += p->k * step, at += p->k * step)
        for (int32_t i = 0; i < step; i++)
            for (int32_t j = 0; j < p->n; j++) {
                const EK_T_ACC a = EK_LOAD_T(x[j * step + i]);
                int32_t m = j < p->k ? j : p->k; /* elements found so far */
                while (m > 0) {
                    const EK_T_ACC b = EK_LOAD_T(y[(m - 1) * step + i]);
                    if (!(EK_EXPR))
                        break;
                    m--;
                    if (m + 1 < p->k) {
                        y[(m + 1) * step + i] = y[m * step + i];
                        at[(m + 1) * step + i] = at[m * step + i];
                    }
                }
                if (m < p->k) {
                    y[m * step + i] = x[j * step + i];
                    at[m * step + i] = j;
                }
            }
}
