/* Softmax of int8 in 16 bits: see softmax_s8_s16_tfl.h. The exponentials of the 256 possible differences are a table,
 * e[-d] = exp(d) in Q0.31; only the reciprocal of their sum is computed here. */
#include "edgekit/softmax_s8_s16_tfl.h"

EK_KERNEL void EK_FN(const int8_t *x, const int32_t *e, int16_t *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n) {
        int32_t max = x[0], sum = 0;
        for (int32_t i = 1; i < p->n; i++)
            max = x[i] > max ? x[i] : max;
        for (int32_t i = 0; i < p->n; i++)
            if (x[i] - max >= p->least)
                sum += ek_shift_away(e[max - x[i]], 12);
        int32_t headroom = 0;
        while (!(((uint32_t)sum << headroom) & 0x80000000u))
            headroom++;
        const int32_t fraction = (int32_t)(((uint32_t)sum << headroom) - 0x80000000u);
        const int32_t reciprocal = ek_reciprocal_of_one_plus(fraction);
        for (int32_t i = 0; i < p->n; i++) {
            const int32_t d = x[i] - max;
            const int32_t share =
                d < p->least ? 0 : ek_shift_away(ek_high_product(e[-d], reciprocal), 27 - headroom);
            y[i] = (int16_t)(share > 65535 ? 32767 : share - 32768);
        }
    }
}
