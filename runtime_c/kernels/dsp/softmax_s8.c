/* int8 softmax with DSP instructions.
 * @work calls, inputs, positions, rest cells */
#include "edgekit/contracts/softmax_s8.h"

static EK_SHARED void EK_FN_row(const int8_t *x, const uint16_t *e, int8_t *y, const int32_t n)
{
    const uint16_t *const exponential = e + ek_largest_byte(x, n); /* of -x */
    const int8_t *const end = x + n;
    uint32_t sum = 0;
    for (const int8_t *from = x; from != end;)
        sum += exponential[-*from++];
    const uint32_t bits = sum >> 16 ? 16 - (uint32_t)__builtin_clz(sum) : 0;
    const uint32_t reciprocal = 0x80000000u / ((sum + (1u << bits >> 1)) >> bits);
    const uint32_t down = bits > 8 ? bits - 8 : 0, shift = bits > 8 ? 31 : 23 + bits;
    const uint32_t half = 1u << (shift - 1);
    while (x != end)
        *y++ = ek_nearest_s8((int32_t)(((exponential[-*x++] * reciprocal >> down) + half) >> shift) - 128);
}

EK_KERNEL void EK_FN(const int8_t *x, const uint16_t *e, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n)
        EK_FN_row(x, e, y, p->n);
}
