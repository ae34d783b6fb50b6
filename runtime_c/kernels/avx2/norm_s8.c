/* int8 normalization of rows. Only the high word of a product matters, once its shift is 33 or more: differences are
 * at most 2^7 roots of the sum behind the root, so that they have room to go there.
 * @when n >= 16 and digits <= 16 */
/* int8 normalization of rows.
 * @as avx512/norm_s8, wasm/norm_s8, neon/norm_s8, neon32/norm_s8, rvv/norm_s8 */
#include "edgekit/contracts/norm_s8.h"

/* The sums of a row, less its zero point, and of their squares. */
EK_INLINE void EK_FN_sums(const int8_t *x, int32_t *sum, int32_t *squares, const struct EK_STRUCT *p)
{
    ek_vi total = ek_vi_same(0), square = ek_vi_same(0), u[4];
    int32_t i = 0;
    for (; i + 4 * EK_VI_LANES <= p->n; i += 4 * EK_VI_LANES) {
        ek_vi_load_s8(u, x + i, p->x_zero);
        EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++) {
            total = ek_vi_add(total, u[k]);
            square = ek_vi_add(square, ek_vi_mul(u[k], u[k]));
        }
    }
    *sum = ek_vi_total(total);
    *squares = ek_vi_total(square);
    for (; i < p->n; i++) {
        *sum += x[i] - p->x_zero;
        *squares += (x[i] - p->x_zero) * (x[i] - p->x_zero);
    }
}

/* Four vectors of results: n x less the mean, times root / 2^shift. */
EK_INLINE void EK_FN_vectors(const int8_t *x, const int16_t *g, const int32_t *b, int8_t *y,
    const int32_t mean, const int32_t root, const int32_t shift, const struct EK_STRUCT *p)
{
    const int32_t up = shift < 33 ? 33 - shift : 0;
    ek_vi z[4];
    ek_vi_load_s8(z, x, 0);
    EK_UNROLLED_FOR(4, int32_t k = 0; k < 4; k++) {
        const ek_vi wide = ek_vi_add(ek_vi_mul(z[k], ek_vi_same(p->n)), ek_vi_same(-mean));
        const ek_vi unit = ek_requantize_e_same(ek_vi_mul(wide, ek_vi_same(1 << up)), root, shift + up);
        const ek_vi scaled = ek_vi_mul(unit, ek_vi_load_s16(g + k * EK_VI_LANES));
        z[k] = ek_vi_shifted(ek_vi_add(scaled, ek_vi_load(b + k * EK_VI_LANES)), p->shift);
    }
    ek_vi_store_s8(y, z, 0, p->lo, p->hi);
}

EK_VI_SHARED void EK_FN_row(const int8_t *x, const uint8_t *seed, const int16_t *g, const int32_t *b,
    int8_t *y, const struct EK_STRUCT *given)
{
    const struct EK_STRUCT copy = *given, *const p = &copy; /* y might be anywhere */
    int32_t sum, squares, shift, i = 0;
    EK_FN_sums(x, &sum, &squares, p);
    if (!p->centre)
        sum = 0;
    const int64_t v = (int64_t)p->n * ((int64_t)squares + p->epsilon) - (int64_t)sum * sum;
    const int32_t root = ek_reciprocal_root(v > 1 ? (uint64_t)v : 1u, seed, &shift);
    const int32_t mean = p->n * p->x_zero + sum;
    shift -= p->digits;
    for (; i + 4 * EK_VI_LANES <= p->n; i += 4 * EK_VI_LANES)
        EK_FN_vectors(x + i, g + i, b + i, y + i, mean, root, shift, p);
    if (i < p->n) {
        int8_t rest[2][4 * EK_VI_LANES] = {{0}};
        int16_t factors[4 * EK_VI_LANES] = {0};
        int32_t addends[4 * EK_VI_LANES] = {0};
        ek_vi_copy_s8(rest[0], x + i, p->n - i);
        for (int32_t k = 0; i + k < p->n; k++) {
            factors[k] = g[i + k];
            addends[k] = b[i + k];
        }
        EK_FN_vectors(rest[0], factors, addends, rest[1], mean, root, shift, p);
        ek_vi_copy_s8(y + i, rest[1], p->n - i);
    }
}

EK_KERNEL void EK_FN(const int8_t *x, const uint8_t *seed, const int16_t *EK_RESTRICT g,
    const int32_t *EK_RESTRICT b, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n)
        EK_FN_row(x, seed, g, b, y, p);
}
