/* Products of two matrices of int8 that are both known at run time only, by SDOT or SMMLA. The right matrix is packed as
 * weights first, sixteen columns at a time, 4 or 8 `cells` of each side by side:
 *   sum of (a - a_zero) (b - b_zero) = sum of a b - a_zero sum of b - b_zero (sum of a - inner a_zero).
 * Sums of columns are products with ones. */
#ifndef EDGEKIT_MATRICES_S8_NEON_H
#define EDGEKIT_MATRICES_S8_NEON_H

#include <stddef.h>

#include "edgekit/simd/neon/fixed_neon.h"
#include "edgekit/types.h"

struct ek_product_neon {
    int32_t rows;
    int32_t inner;
    int32_t columns;
    int32_t a_row;
    int32_t a_zero;
    int32_t b_zero;
    int32_t multiplier;
    int32_t exponent;
    int32_t zero;
    int32_t lo;
    int32_t hi;
};

typedef int32x4_t ek_rule_neon(const int32x4_t acc, const int32_t m, const int32_t e);
typedef void ek_products_neon(const int8_t *x, const int32_t step, const int32_t row, const int32_t rows,
    const int32_t length, const int8_t *w, const int32_t pixels, const int32_t blocks, int32x4_t *sum);

/* Columns of a tile in memory: whole fours. */
EK_INLINE int32_t ek_tile_columns_neon(const int32_t left)
{
    return left < 16 ? (left + 3) / 4 * 4 : 16;
}

/* Packs b, of which rows are `step` apart, and columns lie side by side. What is stored behind a narrow tile is
 * overwritten, but 128 bytes behind the last. */
EK_INLINED void ek_pack_rows_neon(const int8_t *b, int8_t *w, const int32_t step, const int32_t inner,
    const int32_t columns, const int32_t cells)
{
    for (int32_t j = 0; j < columns; j += 16)
        for (int32_t k = 0; k < inner; k += cells, w += cells * ek_tile_columns_neon(columns - j)) {
            int8x16_t r[8];
            for (int32_t t = 0; t < cells; t++) {
                const int8_t *const from = b + (k + t) * step + j;
                int8_t some[16] = {0};
                if (k + t < inner && columns - j < 16)
                    ek_copy_neon(some, from, columns - j);
                r[t] = vld1q_s8(k + t < inner && columns - j >= 16 ? from : some);
            }
            if (cells == 4) {
                const int8x16x4_t all = {{r[0], r[1], r[2], r[3]}};
                vst4q_s8(w, all);
            } else {
                int16x8x4_t low, high;
                for (int32_t t = 0; t < 4; t++) {
                    low.val[t] = vreinterpretq_s16_s8(vzip1q_s8(r[2 * t], r[2 * t + 1]));
                    high.val[t] = vreinterpretq_s16_s8(vzip2q_s8(r[2 * t], r[2 * t + 1]));
                }
                vst4q_s16((int16_t *)(void *)w, low);
                vst4q_s16((int16_t *)(void *)(w + 64), high);
            }
        }
}

/* Packs b, of which columns are `step` apart, and rows lie side by side. */
EK_INLINED void ek_pack_columns_neon(const int8_t *b, int8_t *w, const int32_t step, const int32_t inner,
    const int32_t columns, const int32_t cells)
{
    for (int32_t j = 0; j < columns; j += 16) {
        const int32_t count = ek_tile_columns_neon(columns - j);
        for (int32_t k = 0; k < inner; k += cells)
            for (int32_t o = 0; o < count; o++, w += cells) {
                const int8_t *const from = b + (j + o) * step + k;
                if (j + o < columns && k + cells <= inner)
                    __builtin_memcpy(w, from, (size_t)cells);
                else
                    for (int32_t t = 0; t < cells; t++)
                        w[t] = j + o < columns && k + t < inner ? from[t] : (int8_t)0;
            }
    }
}

/* Up to four rows times a tile of `left` columns or sixteen, whose sums begin with `bias` and a number of each row. */
EK_INLINED void ek_matrix_tile_neon(const int8_t *a, const int8_t *w, const int32x4_t *bias,
    const int32_t *terms, int8_t *y, const int32_t left, const int32_t rows, const int32_t blocks,
    const struct ek_product_neon *p, ek_products_neon *const products, ek_rule_neon *const rule)
{
    int32x4_t sum[16];
    for (int32_t i = 0; i < rows; i++)
        for (int32_t k = 0; k < blocks; k++)
            sum[4 * i + k] = vaddq_s32(bias[k], vdupq_n_s32(terms[i]));
    products(a, p->a_row, 0, 1, p->inner, w, rows, blocks, sum);
    for (int32_t i = 0; i < rows; i++) {
        int32x4_t v[4];
        for (int32_t k = 0; k < 4; k++)
            v[k] = k < blocks ? rule(sum[4 * i + k], p->multiplier, p->exponent) : v[0];
        ek_store_neon(y + i * p->columns, ek_finish_neon(v[0], v[1], v[2], v[3], p->zero, p->lo, p->hi),
            left < 16 ? left : 16);
    }
}

/* A tile of columns, all rows. */
EK_INLINED void ek_matrix_columns_neon(const int8_t *a, const int8_t *w, const int8_t *ones,
    const int32_t *terms, int8_t *y, const int32_t left, const int32_t blocks,
    const struct ek_product_neon *p, ek_products_neon *const products, ek_rule_neon *const rule)
{
    int32x4_t bias[16];
    int32_t i = 0;
    for (int32_t k = 0; k < blocks; k++)
        bias[k] = vdupq_n_s32(0);
    products(ones, 0, 0, 1, p->inner, w, 1, blocks, bias);
    for (int32_t k = 0; k < blocks; k++)
        bias[k] = vmulq_n_s32(bias[k], -p->a_zero);
    for (; i + 4 <= p->rows; i += 4)
        ek_matrix_tile_neon(
            a + i * p->a_row, w, bias, terms + i, y + i * p->columns, left, 4, blocks, p, products, rule);
    for (; i < p->rows; i++)
        ek_matrix_tile_neon(
            a + i * p->a_row, w, bias, terms + i, y + i * p->columns, left, 1, blocks, p, products, rule);
}

/* Multiplies a by w. `room` takes a number for each row, and then `inner` ones. */
EK_INLINED void ek_multiply_neon(const int8_t *a, const int8_t *w, int8_t *y, uint8_t *room,
    const struct ek_product_neon *p, const int32_t cells, ek_products_neon *const products,
    ek_rule_neon *const rule)
{
    const int32_t padded = (p->inner + cells - 1) / cells * cells;
    int32_t *const terms = (int32_t *)(void *)room;
    int8_t *const ones = (int8_t *)(terms + p->rows);
    for (int32_t i = 0; i < p->rows; i++) {
        const int8_t *const from = a + i * p->a_row;
        int32_t term = 0;
        if (p->b_zero != 0)
            for (int32_t k = 0; k < p->inner; k++)
                term += from[k] - p->a_zero;
        terms[i] = -p->b_zero * term;
    }
    for (int32_t k = 0; k < p->inner; k++)
        ones[k] = 1;
    for (int32_t j = 0; j < p->columns; j += 16) {
        const int32_t left = p->columns - j;
        const int8_t *const from = w + j * padded;
        if (left > 12)
            ek_matrix_columns_neon(a, from, ones, terms, y + j, left, 4, p, products, rule);
        else if (left > 8)
            ek_matrix_columns_neon(a, from, ones, terms, y + j, left, 3, p, products, rule);
        else if (left > 4)
            ek_matrix_columns_neon(a, from, ones, terms, y + j, left, 2, p, products, rule);
        else
            ek_matrix_columns_neon(a, from, ones, terms, y + j, left, 1, p, products, rule);
    }
}

#endif
