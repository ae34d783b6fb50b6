/* Rotary position embedding: pairs of numbers turned by angles.
 * @work calls, outputs */
#include "edgekit/contracts/rotary.h"

EK_INLINE void EK_FN_turn(
    const EK_T *x, const EK_T *EK_RESTRICT c, const EK_T *EK_RESTRICT s, EK_T *y, const struct EK_STRUCT *p)
{
    const int32_t half = p->half, second = p->second;
    for (int32_t k = 0; k < half; k++) {
        const EK_T_ACC a = EK_LOAD_T(x[k]), b = EK_LOAD_T(x[half + k]);
        const EK_T_ACC ac = a * EK_LOAD_T(c[k]), bs = b * EK_LOAD_T(s[k]);
        const EK_T_ACC bc = b * EK_LOAD_T(c[second + k]), as = a * EK_LOAD_T(s[second + k]);
        y[k] = EK_STORE_T(ac - bs);
        y[half + k] = EK_STORE_T(bc + as);
    }
}

EK_KERNEL void EK_FN(const EK_T *x, const EK_T *EK_RESTRICT cosine, const EK_T *EK_RESTRICT sine, EK_T *y,
    const struct EK_STRUCT *p)
{
    for (int32_t h = 0; h < p->heads; h++) {
        const EK_T *c = cosine, *s = sine;
        for (int32_t i = 0; i < p->positions; i++) {
            for (int32_t j = 0; j < p->repeat; j++, x += 2 * p->half, y += 2 * p->half)
                if (EK_IS_AT(x, y)) /* which lets compilers vectorise */
                    EK_FN_turn(y, c, s, y, p);
                else
                    EK_FN_turn(x, c, s, y, p);
            c += p->half + p->second;
            s += p->half + p->second;
        }
    }
}
