/* int8 matrix product with DSP instructions. Two rows and four columns advance together, two products of differences
 * from the zero points each: see elementwise_dsp.h.
 * @when b_column == 1 @work inputs, outputs, products, products by 64 outputs, short row cells */
#include "edgekit/contracts/matmul_s8.h"
#include "edgekit/loops/matrices.h"

/* Two rows of a, which may be the same, and four columns of b. */
struct EK_FN_tile {
    const int8_t *a0;
    const int8_t *a1;
    const int8_t *b;
    int32_t sums[8];
};

/* The differences of two numbers of a row. */
EK_INLINE uint32_t EK_FN_pair(const int8_t *a, const struct EK_STRUCT *p)
{
    return ek_lower_halves((uint32_t)(a[0] - p->a_zero), (uint32_t)(a[p->a_inner] - p->a_zero));
}

static EK_SHARED void EK_FN_dots(struct EK_FN_tile *tile, const struct EK_STRUCT *p)
{
    const uint32_t zeros = (uint32_t)(-p->b_zero & 0xFFFF) * 0x10001u;
    const int8_t *a0 = tile->a0, *a1 = tile->a1, *b = tile->b;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0, k = p->inner;
    for (; k >= 2; k -= 2, a0 += 2 * p->a_inner, a1 += 2 * p->a_inner, b += 2 * p->b_row) {
        const struct ek_four above = ek_four_bytes(b, zeros), below = ek_four_bytes(b + p->b_row, zeros);
        const uint32_t u = EK_FN_pair(a0, p), v = EK_FN_pair(a1, p);
        const uint32_t c0 = ek_lower_halves(above.even, below.even);
        s0 = ek_products(u, c0, s0);
        t0 = ek_products(v, c0, t0);
        const uint32_t c1 = ek_lower_halves(above.odd, below.odd);
        s1 = ek_products(u, c1, s1);
        t1 = ek_products(v, c1, t1);
        const uint32_t c2 = ek_upper_halves(above.even, below.even);
        s2 = ek_products(u, c2, s2);
        t2 = ek_products(v, c2, t2);
        const uint32_t c3 = ek_upper_halves(above.odd, below.odd);
        s3 = ek_products(u, c3, s3);
        t3 = ek_products(v, c3, t3);
    }
    if (k > 0) {
        const int32_t u = a0[0] - p->a_zero, v = a1[0] - p->a_zero, zero = p->b_zero;
        s0 += u * (b[0] - zero), s1 += u * (b[1] - zero), s2 += u * (b[2] - zero), s3 += u * (b[3] - zero);
        t0 += v * (b[0] - zero), t1 += v * (b[1] - zero), t2 += v * (b[2] - zero), t3 += v * (b[3] - zero);
    }
    const int32_t sums[8] = {s0, s1, s2, s3, t0, t1, t2, t3};
    __builtin_memcpy(tile->sums, sums, sizeof sums);
}

/* The same of a single column. */
static EK_SHARED void EK_FN_column(struct EK_FN_tile *tile, const struct EK_STRUCT *p)
{
    int32_t s = 0, t = 0;
    for (int32_t k = 0; k < p->inner; k++) {
        const int32_t v = tile->b[k * p->b_row] - p->b_zero;
        s += (tile->a0[k * p->a_inner] - p->a_zero) * v;
        t += (tile->a1[k * p->a_inner] - p->a_zero) * v;
    }
    tile->sums[0] = s;
    tile->sums[4] = t;
}

EK_INLINE void EK_FN_store(int8_t *y, const int32_t *sums, int32_t count, const struct EK_STRUCT *p)
{
    for (int32_t j = 0; j < count; j++) {
        const int32_t acc = sums[j];
        y[j] = ek_clamp_s8(p->zero + EK_EXPR, p->lo, p->hi);
    }
}

/* One matrix. */
EK_INLINE void EK_FN_matrix(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->rows; i += 2, a += 2 * p->a_row, y += 2 * p->columns) {
        /* A row that is not there is the last one once more, written to the same place. */
        const int32_t below = i + 1 < p->rows ? 1 : 0;
        struct EK_FN_tile tile;
        tile.a0 = a;
        tile.a1 = a + below * p->a_row;
        int8_t *const next = y + below * p->columns;
        for (int32_t j = 0; j < p->columns;) {
            const int32_t count = p->columns - j < 4 ? 1 : 4;
            tile.b = b + j;
            if (count == 4)
                EK_FN_dots(&tile, p);
            else
                EK_FN_column(&tile, p);
            EK_FN_store(y + j, tile.sums, count, p);
            EK_FN_store(next + j, tile.sums + 4, count, p);
            j += count;
        }
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    EK_EACH_MATRIX(EK_FN_matrix, a, b, y, p);
}
