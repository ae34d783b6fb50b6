/* Cumulative sum or product. */
#include "edgekit/contracts/cumulative.h"

EK_KERNEL void EK_FN(const EK_T *x, EK_T *y, const struct EK_STRUCT *p)
{
    const int32_t step = p->reverse ? -p->inner : p->inner;
    for (int32_t o = 0; o < p->outer; o++)
        for (int32_t i = 0; i < p->inner; i++) {
            int32_t at = o * p->n * p->inner + i + (p->reverse ? (p->n - 1) * p->inner : 0);
            EK_T_ACC a = p->first;
            for (int32_t j = 0; j < p->n; j++, at += step) {
                const EK_T_ACC b = EK_LOAD_T(x[at]);
                const EK_T_ACC sum = EK_EXPR;
                y[at] = EK_STORE_T(p->exclusive ? a : sum);
                a = sum;
            }
        }
}
