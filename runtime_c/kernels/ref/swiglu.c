/* SwiGLU: a gate times its logistic function times another number.
 * @work inputs, positions, rest cells */
#include "edgekit/contracts/swiglu.h"

EK_INLINE void EK_FN_each(const EK_T *a, const EK_T *b, EK_T *y, const int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const EK_T_ACC x = EK_LOAD_T(a[i]);
        y[i] = EK_STORE_T(x * EK_MATH_T(gate)(x) * EK_LOAD_T(b[i]));
    }
}

EK_KERNEL void EK_FN(const EK_T *a, const EK_T *b, EK_T *y, const struct EK_STRUCT *p)
{
    if (EK_IS_AT(a, y)) /* which lets compilers vectorise */
        EK_FN_each(y, b, y, p->n);
    else if (EK_IS_AT(b, y))
        EK_FN_each(a, y, y, p->n);
    else
        EK_FN_each(a, b, y, p->n);
}
