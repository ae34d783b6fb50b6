/* SwiGLU: a gate times its logistic function times another number. */
#include "edgekit/contracts/swiglu.h"

EK_INLINE void EK_FN_each(const EK_T *a, const EK_T *b, EK_T *y, const int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        /* Selected by bits, which compilers vectorise. Below -87 the exponential is 0. */
        const EK_T_ACC gate = EK_LOAD_T(a[i]), size = EK_MATH_T(fabs)(gate);
        const EK_T_ACC near = EK_MATH_T(select)(size < 87, size, 87);
        const EK_T_ACC power = EK_MATH_T(exp2_within)(near * (EK_T_ACC)-1.4426950408889634);
        const EK_T_ACC e = EK_MATH_T(select)(size < 87, power, 0);
        y[i] = EK_STORE_T(EK_MATH_T(select)(gate < 0, e, 1) / (1 + e) * gate * EK_LOAD_T(b[i]));
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
