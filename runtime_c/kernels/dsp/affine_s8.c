/* int8 sum or difference by rule E with DSP instructions: see elementwise_dsp.h.
 * @when sa[5] == 1 and sb[5] == 1 and lo == -128 and hi == 127
 * @work calls, inputs, long row blocks, outputs, positions */
#include "edgekit/contracts/affine_s8.h"
#include "edgekit/loops/rows.h"

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    const struct ek_products sum = {p->first, p->second, p->constant, p->shift};
    y += p->y0;
    EK_EACH_ROW(y, p) {
        const int8_t *row_a = EK_ROW_AT(a, p->a0, p->sa);
        const int8_t *row_b = EK_ROW_AT(b, p->b0, p->sb);
        ek_add_products(row_a, row_b, y, p->n[5], &sum);
    }
}
