/* int8 softmax. The exponentials of the 256 possible differences are a table, e[-d] = exp(d) in Q0.31; only the
 * reciprocal of their sum is computed here.
 * @work inputs, positions */
#include "edgekit/contracts/softmax_s8_tfl.h"

EK_KERNEL void EK_FN(const int8_t *x, const int32_t *e, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n) {
        int32_t max = x[0];
        uint32_t sum = 0;
        for (int32_t i = 1; i < p->n; i++)
            max = ek_larger(max, x[i]);
        for (int32_t i = 0; i < p->n; i++)
            sum += ((uint32_t)e[max - x[i]] + 2048) >> 12;
        const int32_t headroom = ek_leading_zeros(sum);
        const int32_t reciprocal = ek_reciprocal_of_one_plus((int32_t)((sum << headroom) - 0x80000000u));
        for (int32_t i = 0; i < p->n; i++) {
            /* Halves go up: 35 - headroom bits, the last one after the nudge. At most 256, which is one too many. */
            const int32_t product = ek_high_product(e[max - x[i]], reciprocal);
            const int32_t share = ((product >> 12 >> (22 - headroom)) + 1) >> 1;
            y[i] = (int8_t)(share - (share >> 8) - 128);
        }
    }
}
