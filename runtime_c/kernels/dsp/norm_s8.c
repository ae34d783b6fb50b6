/* int8 normalization of rows with DSP instructions. Only the high word of a product matters, once its shift is 33 or
 * more: differences are at most 2^7 roots of the sum behind the root, so that they have room to go there.
 * @when digits <= 16 @work calls, inputs, positions */
#include "edgekit/contracts/norm_s8.h"

static EK_SHARED void EK_FN_row(const int8_t *x, const uint8_t *seed, const int16_t *g, const int32_t *b,
    int8_t *y, const struct EK_STRUCT *p)
{
    const int32_t n = p->n, zero = p->x_zero, lo = p->lo, hi = p->hi, last = p->shift;
    int32_t sum = 0, squares = 0, shift;
    for (int32_t i = 0; i < n; i++) {
        const int32_t u = x[i] - zero;
        sum += u;
        squares += u * u;
    }
    if (!p->centre)
        sum = 0;
    const int64_t v = (int64_t)n * ((int64_t)squares + p->epsilon) - (int64_t)sum * sum;
    const int32_t root = ek_reciprocal_root(v > 1 ? (uint64_t)v : 1u, seed, &shift);
    shift -= p->digits;
    const int32_t up = shift < 33 ? 33 - shift : 0, down = shift + up - 32, half = 1 << (down - 1);
    /* Parts of a difference may wrap: it has room. */
    const uint32_t step = (uint32_t)n << up, mean = (uint32_t)(n * zero + sum) << up;
    for (int32_t i = 0; i < n; i++) {
        const int32_t d = (int32_t)((uint32_t)x[i] * step - mean);
        const int32_t z = ek_high_product_and(d, root, half) >> down;
        y[i] = ek_clamp_s8((z * g[i] + b[i]) >> last, lo, hi);
    }
}

EK_KERNEL void EK_FN(const int8_t *x, const uint8_t *seed, const int16_t *EK_RESTRICT g,
    const int32_t *EK_RESTRICT b, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n)
        EK_FN_row(x, seed, g, b, y, p);
}
