/* Normalization of rows by their size. The sum advances in sixteen lanes, which compilers vectorise.
 * @work calls, inputs, positions, rest cells */
#include "edgekit/contracts/rms_norm.h"

EK_INLINE EK_T_ACC EK_FN_squares(const EK_T *x, const int32_t n)
{
    EK_T_ACC lane[16] = {0};
    int32_t i = 0;
    for (; i + 16 <= n; i += 16) {
        EK_SIDE_BY_SIDE
        for (int32_t l = 0; l < 16; l++) {
            const EK_T_ACC v = EK_LOAD_T(x[i + l]);
            lane[l] += v * v;
        }
    }
    for (int32_t l = 0; i + l < n; l++) {
        const EK_T_ACC v = EK_LOAD_T(x[i + l]);
        lane[l] += v * v;
    }
    EK_T_ACC sum = lane[0];
    for (int32_t l = 1; l < 16; l++)
        sum += lane[l];
    return sum;
}

EK_KERNEL void EK_FN(const EK_T *x, const EK_T *EK_RESTRICT scale, EK_T *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n) {
        const EK_T_ACC mean = EK_FN_squares(x, p->n) / (EK_T_ACC)p->n;
        const EK_T_ACC inverse = 1 / EK_MATH_T(sqrt)(mean + p->epsilon);
        int32_t i = 0;
        for (; i + 16 <= p->n; i += 16) { /* all loads of a block before its stores, because y may be x */
            EK_T_ACC part[16];
            for (int32_t l = 0; l < 16; l++)
                part[l] = EK_LOAD_T(x[i + l]) * inverse * EK_LOAD_T(scale[i + l]);
            for (int32_t l = 0; l < 16; l++)
                y[i + l] = EK_STORE_T(part[l]);
        }
        for (; i < p->n; i++)
            y[i] = EK_STORE_T(EK_LOAD_T(x[i]) * inverse * EK_LOAD_T(scale[i]));
    }
}
