/* y[i] = f(a, b) over strided operands.
 * @work calls, long row blocks, outputs, positions */
#include "edgekit/contracts/map2_nd.h"

EK_INLINE void EK_FN_row(const EK_A *pa, const EK_B *pb, EK_Y *py, const struct EK_STRUCT *p)
{
    EK_ROW_FOR(int32_t i = 0; i < p->n[5]; i++) {
        const EK_A_ACC a = EK_LOAD_A(pa[i * p->sa[5]]);
        const EK_B_ACC b = EK_LOAD_B(pb[i * p->sb[5]]);
        py[i] = EK_STORE_Y(EK_EXPR);
    }
}

EK_KERNEL void EK_FN(const EK_A *pa, const EK_B *pb, EK_Y *py, const struct EK_STRUCT *p)
{
    EK_Y *y = py + p->y0;
    for (int32_t i0 = 0; i0 < p->n[0]; i0++)
        for (int32_t i1 = 0; i1 < p->n[1]; i1++)
            for (int32_t i2 = 0; i2 < p->n[2]; i2++)
                for (int32_t i3 = 0; i3 < p->n[3]; i3++)
                    for (int32_t i4 = 0; i4 < p->n[4]; i4++, y += p->n[5]) {
                        const EK_A *row_a = pa + p->a0 + i0 * p->sa[0] + i1 * p->sa[1] + i2 * p->sa[2]
                                            + i3 * p->sa[3] + i4 * p->sa[4];
                        const EK_B *row_b = pb + p->b0 + i0 * p->sb[0] + i1 * p->sb[1] + i2 * p->sb[2]
                                            + i3 * p->sb[3] + i4 * p->sb[4];
                        if (EK_IS_AT(row_a, y))
                            EK_FN_row((const EK_A *)(const void *)y, row_b, y, p);
                        else if (EK_IS_AT(row_b, y))
                            EK_FN_row(row_a, (const EK_B *)(const void *)y, y, p);
                        else
                            EK_FN_row(row_a, row_b, y, p);
                    }
}
