/* y[i] = f(a) over flat operands.
 * @work inputs, positions, rest cells */
#include "edgekit/contracts/map1.h"

EK_INLINE void EK_FN_each(const EK_A *pa, EK_Y *py, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->n; i++) {
        const EK_A_ACC a = EK_LOAD_A(pa[i * p->sa]);
        py[i] = EK_STORE_Y(EK_EXPR);
    }
}

EK_KERNEL void EK_FN(const EK_A *pa, EK_Y *py, const struct EK_STRUCT *p)
{
    pa += p->a0;
    py += p->y0;
    if (EK_IS_AT(pa, py))
        EK_FN_each((const EK_A *)(const void *)py, py, p);
    else
        EK_FN_each(pa, py, p);
}
