/* int8 softmax by TFLite's rule with DSP instructions. Exponentials are positive, so that halves go up.
 * @work inputs, positions */
#include "edgekit/contracts/softmax_s8_tfl.h"

static EK_SHARED void EK_FN_row(const int8_t *x, const int32_t *e, int8_t *y, const int32_t n)
{
    const int32_t *const exponential = e + ek_largest_byte(x, n); /* of -x */
    const int8_t *const end = x + n;
    uint32_t sum = 0;
    for (const int8_t *from = x; from != end;)
        sum += ((uint32_t)exponential[-*from++] + 2048) >> 12;
    const int32_t headroom = __builtin_clz(sum);
    const uint32_t reciprocal =
        2 * (uint32_t)ek_reciprocal_of_one_plus((int32_t)((sum << headroom) - 0x80000000u));
    /* Shares are less than 2^31: shifted by more than 31 bits, none is left. */
    const int32_t shift = headroom < 4 ? 31 : 35 - headroom;
    const uint32_t half = headroom < 4 ? 0 : 1u << (shift - 1);
    while (x != end) {
        const uint32_t part = (uint32_t)exponential[-*x++];
        const uint32_t share = (uint32_t)(((uint64_t)part * reciprocal + 0x80000000u) >> 32);
        *y++ = ek_nearest_s8((int32_t)((share + half) >> shift) - 128);
    }
}

EK_KERNEL void EK_FN(const int8_t *x, const int32_t *e, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n)
        EK_FN_row(x, e, y, p->n);
}
