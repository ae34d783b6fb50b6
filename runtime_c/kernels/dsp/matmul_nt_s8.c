/* int8 matrix product with transposed b, with DSP instructions. Two rows and two columns advance together, four
 * products of differences from the zero points each: see elementwise_dsp.h.
 * @work inputs, outputs, positions, products */
#include "edgekit/contracts/matmul_nt_s8.h"
#include "edgekit/loops/matrices.h"

/* Of two rows of a and two of b, which may be the same. */
struct EK_FN_tile {
    const int8_t *a0;
    const int8_t *a1;
    const int8_t *b0;
    const int8_t *b1;
    int32_t sums[4];
};

static EK_SHARED void EK_FN_dots(struct EK_FN_tile *tile, const struct EK_STRUCT *p)
{
    const uint32_t a_zeros = (uint32_t)(-p->a_zero & 0xFFFF) * 0x10001u;
    const uint32_t b_zeros = (uint32_t)(-p->b_zero & 0xFFFF) * 0x10001u;
    const int8_t *a0 = tile->a0, *a1 = tile->a1, *b0 = tile->b0, *b1 = tile->b1;
    int32_t s00 = 0, s01 = 0, s10 = 0, s11 = 0, k = p->inner;
    for (; k >= 4; k -= 4, a0 += 4, a1 += 4, b0 += 4, b1 += 4) {
        const struct ek_four u = ek_four_bytes(a0, a_zeros), v = ek_four_bytes(b0, b_zeros);
        s00 = ek_products(u.odd, v.odd, ek_products(u.even, v.even, s00));
        const struct ek_four w = ek_four_bytes(b1, b_zeros), t = ek_four_bytes(a1, a_zeros);
        s01 = ek_products(u.odd, w.odd, ek_products(u.even, w.even, s01));
        s10 = ek_products(t.odd, v.odd, ek_products(t.even, v.even, s10));
        s11 = ek_products(t.odd, w.odd, ek_products(t.even, w.even, s11));
    }
    for (; k > 0; k--) {
        const int32_t u = *a0++ - p->a_zero, t = *a1++ - p->a_zero;
        const int32_t v = *b0++ - p->b_zero, w = *b1++ - p->b_zero;
        s00 += u * v;
        s01 += u * w;
        s10 += t * v;
        s11 += t * w;
    }
    tile->sums[0] = s00;
    tile->sums[1] = s01;
    tile->sums[2] = s10;
    tile->sums[3] = s11;
}

EK_INLINE void EK_FN_store(int8_t *y, const int32_t acc, const struct EK_STRUCT *p)
{
    *y = ek_clamp_s8(p->zero + EK_EXPR, p->lo, p->hi);
}

/* One matrix. */
EK_INLINE void EK_FN_matrix(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->rows; i += 2, a += 2 * p->a_row, y += 2 * p->columns) {
        const int32_t below = i + 1 < p->rows ? 1 : 0;
        for (int32_t j = 0; j < p->columns; j += 2) {
            const int32_t beside = j + 1 < p->columns ? 1 : 0;
            const int8_t *column = b + j * p->b_row;
            struct EK_FN_tile tile = {
                a, a + below * p->a_row, column, column + beside * p->b_row, {0, 0, 0, 0}};
            EK_FN_dots(&tile, p);
            /* What is not there is computed twice, and written to the same place. */
            int8_t *const to = y + j, *const next = to + below * p->columns;
            EK_FN_store(to, tile.sums[0], p);
            EK_FN_store(to + beside, tile.sums[1], p);
            EK_FN_store(next, tile.sums[2], p);
            EK_FN_store(next + beside, tile.sums[3], p);
        }
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_FN_matrix, a, b, y, p);
}
