/* Rotary position embedding: pairs of numbers turned by angles. */
#include "edgekit/contracts/rotary.h"

EK_KERNEL void EK_FN(const EK_T *x, const EK_T *EK_RESTRICT cosine, const EK_T *EK_RESTRICT sine, EK_T *y,
    const struct EK_STRUCT *p)
{
    const int32_t half = p->half, second = p->second;
    for (int32_t h = 0; h < p->heads; h++) {
        const EK_T *c = cosine, *s = sine;
        for (int32_t i = 0; i < p->positions; i++, x += 2 * half, y += 2 * half) {
            for (int32_t k = 0; k < half; k++) {
                const EK_T_ACC a = EK_LOAD_T(x[k]), b = EK_LOAD_T(x[half + k]);
                const EK_T_ACC ac = a * EK_LOAD_T(c[k]), bs = b * EK_LOAD_T(s[k]);
                const EK_T_ACC bc = b * EK_LOAD_T(c[second + k]), as = a * EK_LOAD_T(s[second + k]);
                y[k] = EK_STORE_T(ac - bs);
                y[half + k] = EK_STORE_T(bc + as);
            }
            c += half + second;
            s += half + second;
        }
    }
}
