/* int8 normalization of rows. Only the sums behind the root have more than 32 bits.
 * @work inputs, positions */
#include "edgekit/contracts/norm_s8.h"

EK_KERNEL void EK_FN(const int8_t *x, const uint8_t *seed, const int16_t *EK_RESTRICT g,
    const int32_t *EK_RESTRICT b, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n) {
        int32_t sum = 0, squares = 0, shift;
        for (int32_t i = 0; i < p->n; i++) {
            const int32_t u = x[i] - p->x_zero;
            sum += u;
            squares += u * u;
        }
        if (!p->centre)
            sum = 0;
        const int64_t v = (int64_t)p->n * ((int64_t)squares + p->epsilon) - (int64_t)sum * sum;
        const int32_t root = ek_reciprocal_root(v > 1 ? (uint64_t)v : 1u, seed, &shift);
        shift -= p->digits;
        for (int32_t i = 0; i < p->n; i++) {
            const int32_t d = p->n * (x[i] - p->x_zero) - sum;
            const int32_t z = (int32_t)(((int64_t)d * root + ((int64_t)1 << (shift - 1))) >> shift);
            y[i] = ek_clamp_s8((z * g[i] + b[i]) >> p->shift, p->lo, p->hi);
        }
    }
}
