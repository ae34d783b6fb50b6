/* Rows of a table of integers with a scale for each group.
 * @also gather_groupwise_symmetric
 * @pack w: O I
 * @pack scale: O I
 * @pack zero: O I */
#include "edgekit/contracts/gather_groupwise.h"

EK_KERNEL void EK_FN(const EK_W *EK_RESTRICT w, const EK_C *EK_RESTRICT scale,
    EK_ZERO(const EK_Z *EK_RESTRICT zero, ) const EK_I *EK_RESTRICT index, EK_T *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    const int32_t groups = (p->n + p->group - 1) / p->group;
    for (int32_t r = 0; r < p->rows; r++) {
        EK_I_ACC k = EK_LOAD_I(index[r]);
        k = k < 0 ? k + p->size : k;
        k = k < 0 ? 0 : k < p->size ? k : p->size - 1;
        const int32_t row = (int32_t)k * p->n, of_row = (int32_t)k * groups;
        for (int32_t i = 0; i < p->n; i++) {
            EK_T_ACC v = EK_LOAD_W(EK_AT_W(w, row + i));
            EK_ZERO(v -= EK_LOAD_Z(EK_AT_Z(zero, of_row + i / p->group));)
            *y++ = EK_STORE_T(v * EK_LOAD_C(scale[of_row + i / p->group]));
        }
    }
}
