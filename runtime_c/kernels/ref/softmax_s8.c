/* int8 softmax.
 * @work inputs, positions */
#include "edgekit/contracts/softmax_s8.h"

EK_KERNEL void EK_FN(const int8_t *x, const uint16_t *e, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n) {
        int32_t max = x[0];
        uint32_t sum = 0;
        for (int32_t i = 1; i < p->n; i++)
            max = x[i] > max ? x[i] : max;
        for (int32_t i = 0; i < p->n; i++)
            sum += e[max - x[i]];
        /* At least 2^15, as the largest one counts that much. */
        const uint32_t bits = 16 - (uint32_t)ek_leading_zeros(sum);
        const uint32_t reciprocal = 0x80000000u / ((sum + (1u << bits >> 1)) >> bits);
        const uint32_t down = bits > 8 ? bits - 8 : 0, shift = bits > 8 ? 31 : 23 + bits;
        for (int32_t i = 0; i < p->n; i++) {
            const uint32_t share = e[max - x[i]] * reciprocal >> down;
            /* At most 256, which is one too many. */
            const int32_t v = (int32_t)((share + (1u << (shift - 1))) >> shift);
            y[i] = (int8_t)(v - (v >> 8) - 128);
        }
    }
}
