/* int8 sum or difference by rule E with DSP instructions: see affine_s8.h and pairs_dsp.h.
 * when sa[5] == 1 and sb[5] == 1 and lo == -128 and hi == 127 */
#include "edgekit/affine_s8.h"

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    const struct ek_products sum = {p->first, p->second, p->constant, p->shift};
    y += p->y0;
    for (int32_t i0 = 0; i0 < p->n[0]; i0++)
        for (int32_t i1 = 0; i1 < p->n[1]; i1++)
            for (int32_t i2 = 0; i2 < p->n[2]; i2++)
                for (int32_t i3 = 0; i3 < p->n[3]; i3++)
                    for (int32_t i4 = 0; i4 < p->n[4]; i4++, y += p->n[5]) {
                        const int8_t *row_a = a + p->a0 + i0 * p->sa[0] + i1 * p->sa[1] + i2 * p->sa[2]
                                              + i3 * p->sa[3] + i4 * p->sa[4];
                        const int8_t *row_b = b + p->b0 + i0 * p->sb[0] + i1 * p->sb[1] + i2 * p->sb[2]
                                              + i3 * p->sb[3] + i4 * p->sb[4];
                        ek_add_products(row_a, row_b, y, p->n[5], &sum);
                    }
}
