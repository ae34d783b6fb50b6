/* int8 softmax. Exponentials are looked up one by one and kept, so that compilers make vectors of the shares.
 * @scratch 2 * n */
/* int8 softmax.
 * @as wasm/softmax_s8 */
#include "edgekit/contracts/softmax_s8.h"

/* The shares of a row: at most 256, which is one too many. */
EK_INLINE void EK_FN_shares(const uint16_t *EK_RESTRICT e, int8_t *EK_RESTRICT y, const int32_t n,
    const uint32_t reciprocal, const uint32_t down, const uint32_t shift)
{
    const uint32_t half = 1u << (shift - 1);
    for (int32_t i = 0; i < n; i++) {
        const int32_t v = (int32_t)(((e[i] * reciprocal >> down) + half) >> shift);
        y[i] = (int8_t)(v - (v >> 8) - 128);
    }
}

EK_KERNEL void EK_FN(
    const int8_t *x, const uint16_t *e, int8_t *y, uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    uint16_t *const kept = (uint16_t *)(void *)scratch;
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n) {
        int8_t most = x[0];
        uint32_t sum = 0;
        for (int32_t i = 1; i < p->n; i++)
            most = x[i] > most ? x[i] : most;
        for (int32_t i = 0; i < p->n; i++)
            sum += kept[i] = e[most - x[i]];
        /* At least 2^15, as the largest one counts that much. */
        const uint32_t bits = 16 - (uint32_t)ek_leading_zeros(sum);
        const uint32_t reciprocal = 0x80000000u / ((sum + (1u << bits >> 1)) >> bits);
        const uint32_t down = bits > 8 ? bits - 8 : 0, shift = bits > 8 ? 31 : 23 + bits;
        EK_FN_shares(kept, y, p->n, reciprocal, down, shift);
    }
}
