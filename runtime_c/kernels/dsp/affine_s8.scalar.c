/* int8 sum or difference by rule E with DSP instructions, of rows and one number each.
 * @when sa[5] == 1 and sb[5] == 0 and lo == -128 and hi == 127 @work calls, inputs, positions */
#include "edgekit/contracts/affine_s8.h"
#include "edgekit/loops/rows.h"

/* Four a turn: compilers for small processors do not unroll loops. */
static EK_SHARED void EK_FN_row(
    const int8_t *a, int32_t constant, int8_t *y, int32_t count, const struct EK_STRUCT *p)
{
    const int32_t factor = p->first, shift = p->shift;
    for (; count >= 4; count -= 4, a += 4, y += 4) {
        const int32_t u = a[0] * factor + constant, v = a[1] * factor + constant;
        const int32_t w = a[2] * factor + constant, z = a[3] * factor + constant;
        y[0] = ek_nearest_s8(u >> shift);
        y[1] = ek_nearest_s8(v >> shift);
        y[2] = ek_nearest_s8(w >> shift);
        y[3] = ek_nearest_s8(z >> shift);
    }
    for (; count > 0; count--)
        *y++ = ek_nearest_s8((*a++ * factor + constant) >> shift);
}

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    y += p->y0;
    EK_EACH_ROW(y, p) {
        const int32_t constant = *EK_ROW_AT(b, p->b0, p->sb) * p->second + p->constant;
        EK_FN_row(EK_ROW_AT(a, p->a0, p->sa), constant, y, p->n[5], p);
    }
}
