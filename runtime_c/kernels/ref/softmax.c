/* Softmax of rows. Each row is walked in sixteen lanes, which compilers vectorise.
 * @work calls, inputs, positions, rest cells */
#include "edgekit/contracts/softmax.h"

EK_INLINE EK_T_ACC EK_FN_largest(const EK_T *x, const int32_t n)
{
    EK_T_ACC lane[16];
    for (int32_t l = 0; l < 16; l++)
        lane[l] = EK_LOAD_T(x[0]);
    int32_t i = 0;
    for (; i + 16 <= n; i += 16) {
        EK_SIDE_BY_SIDE
        for (int32_t l = 0; l < 16; l++)
            lane[l] = EK_MATH_T(fmax)(lane[l], EK_LOAD_T(x[i + l]));
    }
    for (int32_t l = 0; i + l < n; l++)
        lane[l] = EK_MATH_T(fmax)(lane[l], EK_LOAD_T(x[i + l]));
    EK_T_ACC most = lane[0];
    for (int32_t l = 1; l < 16; l++)
        most = EK_MATH_T(fmax)(most, lane[l]);
    return most;
}

EK_KERNEL void EK_FN(const EK_T *x, EK_T *y, const struct EK_STRUCT *p)
{
    /* y keeps exp(x - m) until the sum is known, unless it would round: then it is computed anew. */
    const int kept = sizeof(EK_T) == sizeof(EK_T_ACC);
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n) {
        const EK_T_ACC most = EK_FN_largest(x, p->n);
        EK_T_ACC lane[16] = {0}, part[16];
        int32_t i = 0;
        for (; i + 16 <= p->n; i += 16) {
            for (int32_t l = 0; l < 16; l++)
                part[l] = EK_MATH_T(exp)(EK_LOAD_T(x[i + l]) - most);
            for (int32_t l = 0; l < 16; l++) {
                if (kept)
                    y[i + l] = EK_STORE_T(part[l]);
                lane[l] += part[l];
            }
        }
        for (int32_t l = 0; i + l < p->n; l++) {
            const EK_T_ACC e = EK_MATH_T(exp)(EK_LOAD_T(x[i + l]) - most);
            if (kept)
                y[i + l] = EK_STORE_T(e);
            lane[l] += e;
        }
        EK_T_ACC sum = lane[0];
        for (int32_t l = 1; l < 16; l++)
            sum += lane[l];
        for (i = 0; i < p->n; i++) {
            const EK_T_ACC e = kept ? EK_LOAD_T(y[i]) : EK_MATH_T(exp)(EK_LOAD_T(x[i]) - most);
            y[i] = EK_STORE_T(e / sum);
        }
    }
}
