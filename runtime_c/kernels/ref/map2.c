/* y[i] = f(a, b) over flat operands.
 * @work calls, inputs, outputs, rest cells */
#include "edgekit/contracts/map2.h"

EK_INLINE void EK_FN_each(const EK_A *pa, const EK_B *pb, EK_Y *py, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->n; i++) {
        const EK_A_ACC a = EK_LOAD_A(pa[i * p->sa]);
        const EK_B_ACC b = EK_LOAD_B(pb[i * p->sb]);
        py[i] = EK_STORE_Y(EK_EXPR);
    }
}

EK_KERNEL void EK_FN(const EK_A *pa, const EK_B *pb, EK_Y *py, const struct EK_STRUCT *p)
{
    pa += p->a0;
    pb += p->b0;
    py += p->y0;
    if (EK_IS_AT(pa, py))
        EK_FN_each((const EK_A *)(const void *)py, pb, py, p);
    else if (EK_IS_AT(pb, py))
        EK_FN_each(pa, (const EK_B *)(const void *)py, py, p);
    else
        EK_FN_each(pa, pb, py, p);
}
