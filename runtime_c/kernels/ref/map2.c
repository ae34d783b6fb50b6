/* y[i] = f(a, b) over flat operands: see map2.h. */
#include "edgekit/map2.h"

EK_KERNEL void EK_FN(const EK_A *pa, const EK_B *pb, EK_Y *py, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->n; i++) {
        const EK_A_ACC a = EK_LOAD_A(pa[p->a0 + i * p->sa]);
        const EK_B_ACC b = EK_LOAD_B(pb[p->b0 + i * p->sb]);
        py[p->y0 + i] = EK_STORE_Y(EK_EXPR);
    }
}
