/* Determinants by elimination with the largest pivot of each column. */
#include "edgekit/contracts/det.h"

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, EK_T_ACC *EK_RESTRICT work, const struct EK_STRUCT *p)
{
    const int32_t n = p->n;
    for (int32_t b = 0; b < p->batch; b++, x += n * n) {
        EK_T_ACC product = 1;
        for (int32_t i = 0; i < n * n; i++)
            work[i] = EK_LOAD_T(x[i]);
        for (int32_t k = 0; k < n; k++) {
            int32_t pivot = k;
            for (int32_t i = k + 1; i < n; i++)
                if (EK_MATH_T(fabs)(work[i * n + k]) > EK_MATH_T(fabs)(work[pivot * n + k]))
                    pivot = i;
            if (pivot != k)
                product = -product;
            for (int32_t j = k; j < n; j++) {
                const EK_T_ACC above = work[k * n + j];
                work[k * n + j] = work[pivot * n + j];
                work[pivot * n + j] = above;
            }
            product *= work[k * n + k];
            if (work[k * n + k] == 0)
                break; /* the rest of the column is 0, too */
            for (int32_t i = k + 1; i < n; i++) {
                const EK_T_ACC factor = work[i * n + k] / work[k * n + k];
                for (int32_t j = k + 1; j < n; j++)
                    work[i * n + j] -= factor * work[k * n + j];
            }
        }
        y[b] = EK_STORE_T(product);
    }
}
