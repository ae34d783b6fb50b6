/* y[i] = f(a) over flat operands: see map1.h. */
#include "edgekit/map1.h"

EK_KERNEL void EK_FN(const EK_A *pa, EK_Y *py, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->n; i++) {
        const EK_A_ACC a = EK_LOAD_A(pa[p->a0 + i * p->sa]);
        py[p->y0 + i] = EK_STORE_Y(EK_EXPR);
    }
}
