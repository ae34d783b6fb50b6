/* int8 softmax: see softmax_s8.h. */
#include "edgekit/softmax_s8.h"

EK_KERNEL void EK_FN(const int8_t *x, const uint16_t *e, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n) {
        int32_t max = x[0];
        uint32_t sum = 0, bits = 0;
        for (int32_t i = 1; i < p->n; i++)
            max = x[i] > max ? x[i] : max;
        for (int32_t i = 0; i < p->n; i++)
            sum += e[max - x[i]];
        while (sum >> bits >> 16)
            bits++;
        const uint32_t reciprocal = 0x80000000u / ((sum + (1u << bits >> 1)) >> bits);
        const uint32_t down = bits > 8 ? bits - 8 : 0, shift = bits > 8 ? 31 : 23 + bits;
        for (int32_t i = 0; i < p->n; i++) {
            const uint32_t share = e[max - x[i]] * reciprocal >> down;
            const int32_t v = (int32_t)((share + (1u << (shift - 1))) >> shift) - 128;
            y[i] = (int8_t)(v > 127 ? 127 : v);
        }
    }
}
