/* Where the largest or smallest element is. */
#include "edgekit/contracts/arg_extreme.h"

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, int64_t *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t o = 0; o < p->outer; o++, x += p->n * p->inner)
        for (int32_t i = 0; i < p->inner; i++) {
            EK_T_ACC b = EK_LOAD_T(x[i]);
            int32_t best = 0;
            for (int32_t j = 1; j < p->n; j++) {
                const EK_T_ACC a = EK_LOAD_T(x[j * p->inner + i]);
                if (EK_EXPR) {
                    b = a;
                    best = j;
                }
            }
            *y++ = best;
        }
}
