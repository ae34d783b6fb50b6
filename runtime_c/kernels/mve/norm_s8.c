/* int8 normalization of rows with Helium. Only the high word of a product matters, once its shift is 33 or more:
 * differences are at most 2^7 roots of the sum behind the root, so that they have room to go there.
 * @when digits <= 16 @work inputs, positions */
#include "edgekit/contracts/norm_s8.h"

/* The sums of a row, less its zero point, and of their squares. */
EK_INLINE void EK_FN_sums(const int8_t *x, int32_t *sum, int32_t *squares, const struct EK_STRUCT *p)
{
    int32_t total = 0, square = 0;
    for (int32_t left_over = p->n; left_over > 0; left_over -= 8, x += 8) {
        const mve_pred16_t lanes = vctp16q((uint32_t)left_over);
        const int16x8_t u = vsubq_n_s16(vldrbq_z_s16(x, lanes), (int16_t)p->x_zero);
        total = vaddvaq_p_s16(total, u, lanes);
        square = vmladavaq_p_s16(square, u, u, lanes);
    }
    *sum = total;
    *squares = square;
}

static EK_SHARED void EK_FN_row(const int8_t *x, const uint8_t *seed, const int16_t *g, const int32_t *b,
    int8_t *y, const struct EK_STRUCT *p)
{
    int32_t sum, squares, shift;
    EK_FN_sums(x, &sum, &squares, p);
    if (!p->centre)
        sum = 0;
    const int64_t v = (int64_t)p->n * ((int64_t)squares + p->epsilon) - (int64_t)sum * sum;
    const int32x4_t root = vdupq_n_s32(ek_reciprocal_root(v > 1 ? (uint64_t)v : 1u, seed, &shift));
    shift -= p->digits;
    const int32_t up = shift < 33 ? 33 - shift : 0, down = 32 - shift - up, mean = p->n * p->x_zero + sum;
    for (int32_t i = 0; i < p->n; i += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)(p->n - i));
        const int32x4_t d = vsubq_n_s32(vmulq_n_s32(vldrbq_z_s32(x + i, lanes), p->n), mean);
        const int32x4_t z = vrshlq_n_s32(vmulhq_s32(vshlq_r_s32(d, up), root), down);
        const int32x4_t scaled = vmulq_s32(z, vldrhq_z_s32(g + i, lanes));
        const int32x4_t result = vshlq_r_s32(vaddq_s32(scaled, vldrwq_z_s32(b + i, lanes)), -p->shift);
        ek_mve_store_x4(y + i, result, 0, p->lo, p->hi, p->n - i);
    }
}

EK_KERNEL void EK_FN(const int8_t *x, const uint8_t *seed, const int16_t *EK_RESTRICT g,
    const int32_t *EK_RESTRICT b, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n)
        EK_FN_row(x, seed, g, b, y, p);
}
