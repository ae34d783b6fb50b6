/* Updates by index. */
#include "edgekit/contracts/scatter.h"

EK_INLINE int32_t EK_FN_offset(const EK_I *index, const struct EK_STRUCT *p)
{
    int32_t offset = 0;
    for (int32_t c = 0; c < p->count; c++) {
        EK_I_ACC k = EK_LOAD_I(index[c * p->apart]);
        k = k < 0 ? k + p->size[c] : k;
        k = k < 0 ? 0 : k < p->size[c] ? k : p->size[c] - 1;
        offset += (int32_t)k * p->step[c];
    }
    return offset;
}

EK_KERNEL void EK_FN(
    const EK_I *EK_RESTRICT index, const EK_T *EK_RESTRICT u, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    u += p->u0;
    for (int32_t i0 = 0; i0 < p->n[0]; i0++)
        for (int32_t i1 = 0; i1 < p->n[1]; i1++)
            for (int32_t i2 = 0; i2 < p->n[2]; i2++)
                for (int32_t i3 = 0; i3 < p->n[3]; i3++)
                    for (int32_t i4 = 0; i4 < p->n[4]; i4++) {
                        EK_T *to = y + p->y0 + i0 * p->y[0] + i1 * p->y[1] + i2 * p->y[2] + i3 * p->y[3]
                                   + i4 * p->y[4];
                        const EK_I *at = index + p->index0 + i0 * p->index[0] + i1 * p->index[1]
                                         + i2 * p->index[2] + i3 * p->index[3] + i4 * p->index[4];
                        for (int32_t i = 0; i < p->n[5]; i++) {
                            EK_T *cell = to + i * p->y[5] + EK_FN_offset(at + i * p->index[5], p);
                            const EK_T_ACC a = EK_LOAD_T(*cell), b = EK_LOAD_T(u[i]);
                            (void)a;
                            *cell = EK_STORE_T(EK_EXPR);
                        }
                        u += p->n[5];
                    }
}
