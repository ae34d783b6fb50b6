/* Rotary position embedding: pairs of numbers turned by angles, eight at a time. */
#include "edgekit/contracts/rotary.h"

/* `count` pairs: all are computed before one is stored, because y may be x. */
EK_INLINE void EK_FN_turn(const EK_T *x, const EK_T *EK_RESTRICT c, const EK_T *EK_RESTRICT s, EK_T *y,
    const int32_t count, const struct EK_STRUCT *p)
{
    const int32_t half = p->half, second = p->second;
    EK_T_ACC first[8], other[8];
    for (int32_t k = 0; k < count; k++) {
        const EK_T_ACC a = EK_LOAD_T(x[k]), b = EK_LOAD_T(x[half + k]);
        const EK_T_ACC ac = a * EK_LOAD_T(c[k]), bs = b * EK_LOAD_T(s[k]);
        const EK_T_ACC bc = b * EK_LOAD_T(c[second + k]), as = a * EK_LOAD_T(s[second + k]);
        first[k] = ac - bs;
        other[k] = bc + as;
    }
    for (int32_t k = 0; k < count; k++) {
        y[k] = EK_STORE_T(first[k]);
        y[half + k] = EK_STORE_T(other[k]);
    }
}

EK_KERNEL void EK_FN(const EK_T *x, const EK_T *EK_RESTRICT cosine, const EK_T *EK_RESTRICT sine, EK_T *y,
    const struct EK_STRUCT *p)
{
    const int32_t half = p->half;
    for (int32_t h = 0; h < p->heads; h++) {
        const EK_T *c = cosine, *s = sine;
        for (int32_t i = 0; i < p->positions; i++) {
            for (int32_t j = 0; j < p->repeat; j++, x += 2 * half, y += 2 * half) {
                int32_t k = 0;
                for (; k + 8 <= half; k += 8)
                    EK_FN_turn(x + k, c + k, s + k, y + k, 8, p);
                for (; k < half; k++)
                    EK_FN_turn(x + k, c + k, s + k, y + k, 1, p);
            }
            c += half + p->second;
            s += half + p->second;
        }
    }
}
