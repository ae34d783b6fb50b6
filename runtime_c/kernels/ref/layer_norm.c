/* Normalization of rows. Sums advance in sixteen lanes, which compilers vectorise.
 * @work calls, inputs, positions */
#include "edgekit/contracts/layer_norm.h"

/* Sum over i of x[i] - shift, or of its square. */
EK_INLINE EK_T_ACC EK_FN_sum(const EK_T *x, const int32_t n, const EK_T_ACC shift, const int square)
{
    EK_T_ACC lane[16] = {0};
    int32_t i = 0;
    for (; i + 16 <= n; i += 16) {
        EK_SIDE_BY_SIDE
        for (int32_t l = 0; l < 16; l++) {
            const EK_T_ACC d = EK_LOAD_T(x[i + l]) - shift;
            lane[l] += square ? d * d : d;
        }
    }
    for (int32_t l = 0; i + l < n; l++) {
        const EK_T_ACC d = EK_LOAD_T(x[i + l]) - shift;
        lane[l] += square ? d * d : d;
    }
    EK_T_ACC sum = lane[0];
    for (int32_t l = 1; l < 16; l++)
        sum += lane[l];
    return sum;
}

EK_KERNEL void EK_FN(const EK_T *x, const EK_T *EK_RESTRICT scale, const EK_T *EK_RESTRICT bias, EK_T *y,
    const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n) {
        const EK_T_ACC n = (EK_T_ACC)p->n;
        const EK_T_ACC mean = EK_FN_sum(x, p->n, 0, 0) / n;
        const EK_T_ACC variance = EK_FN_sum(x, p->n, mean, 1) / n;
        const EK_T_ACC inverse = 1 / EK_MATH_T(sqrt)(variance + p->epsilon);
        int32_t i = 0;
        for (; i + 16 <= p->n; i += 16) { /* all loads of a block before its stores, because y may be x */
            EK_T_ACC part[16];
            for (int32_t l = 0; l < 16; l++)
                part[l] =
                    (EK_LOAD_T(x[i + l]) - mean) * inverse * EK_LOAD_T(scale[i + l]) + EK_LOAD_T(bias[i + l]);
            for (int32_t l = 0; l < 16; l++)
                y[i + l] = EK_STORE_T(part[l]);
        }
        for (; i < p->n; i++)
            y[i] = EK_STORE_T((EK_LOAD_T(x[i]) - mean) * inverse * EK_LOAD_T(scale[i]) + EK_LOAD_T(bias[i]));
    }
}
