/* Places of elements that are not 0. */
#include "edgekit/contracts/non_zero.h"

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, int64_t *EK_RESTRICT index, int64_t *EK_RESTRICT count,
    const struct EK_STRUCT *p)
{
    int32_t found = 0;
    for (int32_t i = 0; i < p->n; i++) {
        if (EK_LOAD_T(x[i]) == 0)
            continue;
        int32_t rest = i;
        for (int32_t d = p->rank - 1; d >= 0; d--) {
            index[d * p->n + found] = rest % p->size[d];
            rest /= p->size[d];
        }
        found++;
    }
    for (int32_t d = 0; d < p->rank; d++)
        for (int32_t m = found; m < p->n; m++)
            index[d * p->n + m] = 0;
    *count = found;
}
