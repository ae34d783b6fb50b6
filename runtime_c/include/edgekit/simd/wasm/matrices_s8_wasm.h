/* Products of two matrices of int8 that are both known at run time only, in WebAssembly. Numbers are widened to 16 bits, less
 * their zero points. The right matrix is packed first: pairs of rows of sixteen columns side by side. */
#ifndef EDGEKIT_MATRICES_S8_WASM_H
#define EDGEKIT_MATRICES_S8_WASM_H

#include "edgekit/simd/wasm/s32_wasm.h"

struct ek_product_wasm {
    int32_t rows;
    int32_t inner;
    int32_t columns;
    int32_t a_row;
    int32_t a_zero;
    int32_t multiplier;
    int32_t exponent;
    int32_t zero;
    int32_t lo;
    int32_t hi;
};

typedef ek_vi ek_rule_wasm(const ek_vi acc, const int32_t m, const int32_t e);

/* Rows that share the loads of columns. */
#define EK_MATRIX_ROWS_WASM 3

/* Packs b, of which rows are `step` apart, and columns lie side by side. */
EK_INLINE void ek_pack_rows_wasm(const int8_t *b, int16_t *to, const int32_t step, const int32_t inner,
    const int32_t columns, const int32_t zero)
{
    for (int32_t j = 0; j < columns; j += 16)
        for (int32_t k = 0; k < inner; k += 2, to += 32) {
            const int32_t count = columns - j < 16 ? columns - j : 16;
            ek_vi bytes[2], less = wasm_i16x8_splat((int16_t)zero);
            int8_t some[16] = {0};
            for (int32_t t = 0; t < 2; t++) {
                const int8_t *from = b + (k + t < inner ? k + t : k) * step + j;
                if (count < 16)
                    ek_vi_copy_s8(some, from, count);
                bytes[t] = wasm_v128_load(count < 16 ? some : from);
            }
            const ek_vi a = wasm_i16x8_sub(wasm_i16x8_extend_low_i8x16(bytes[0]), less);
            const ek_vi c = wasm_i16x8_sub(wasm_i16x8_extend_high_i8x16(bytes[0]), less);
            ek_vi u = wasm_i16x8_sub(wasm_i16x8_extend_low_i8x16(bytes[1]), less);
            ek_vi v = wasm_i16x8_sub(wasm_i16x8_extend_high_i8x16(bytes[1]), less);
            if (k + 1 == inner)
                u = v = wasm_i16x8_splat(0);
            wasm_v128_store(to, wasm_i16x8_shuffle(a, u, 0, 8, 1, 9, 2, 10, 3, 11));
            wasm_v128_store(to + 8, wasm_i16x8_shuffle(a, u, 4, 12, 5, 13, 6, 14, 7, 15));
            wasm_v128_store(to + 16, wasm_i16x8_shuffle(c, v, 0, 8, 1, 9, 2, 10, 3, 11));
            wasm_v128_store(to + 24, wasm_i16x8_shuffle(c, v, 4, 12, 5, 13, 6, 14, 7, 15));
        }
}

/* Packs b, of which columns are `step` apart, and rows lie side by side. What columns that are not there hold is of no
 * consequence. */
EK_INLINE void ek_pack_columns_wasm(const int8_t *b, int16_t *to, const int32_t step, const int32_t inner,
    const int32_t columns, const int32_t zero)
{
    const int32_t pairs = (inner + 1) / 2;
    for (int32_t j = 0; j < columns; j++) {
        const int8_t *const from = b + j * step;
        int16_t *at = to + j / 16 * pairs * 32 + j % 16 * 2;
        for (int32_t k = 0; k < inner; k += 2, at += 32) {
            at[0] = (int16_t)(from[k] - zero);
            at[1] = (int16_t)(k + 1 < inner ? from[k + 1] - zero : 0);
        }
    }
}

/* A row of a in 16 bits, and a zero behind it. */
EK_INLINE void ek_matrix_row_wasm(const int8_t *a, int16_t *to, const int32_t inner, const int32_t zero)
{
    int32_t k = 0;
    for (; k + 8 <= inner; k += 8)
        wasm_v128_store(to + k, wasm_i16x8_sub(wasm_i16x8_load8x8(a + k), wasm_i16x8_splat((int16_t)zero)));
    for (; k < inner; k++)
        to[k] = (int16_t)(a[k] - zero);
    to[k] = 0;
}

/* Some rows times sixteen columns, `count` of which are stored. */
EK_INLINED void ek_matrix_tile_wasm(const int16_t *a, const int16_t *b, int8_t *y, const int32_t count,
    const int32_t rows, const struct ek_product_wasm *p, ek_rule_wasm *const rule)
{
    const int32_t pairs = (p->inner + 1) / 2;
    ek_vi sum[4 * EK_MATRIX_ROWS_WASM];
    EK_UNROLLED_FOR(12, int32_t n = 0; n < 4 * rows; n++)
        sum[n] = ek_vi_same(0);
    for (int32_t k = 0; k < pairs; k++, a += 2, b += 32)
        EK_UNROLLED_FOR(4, int32_t v = 0; v < 4; v++) {
            const ek_vi column = wasm_v128_load(b + 8 * v);
            EK_UNROLLED_FOR(4, int32_t r = 0; r < rows; r++)
                sum[4 * r + v] = ek_vi_add(
                    sum[4 * r + v], wasm_i32x4_dot_i16x8(column, wasm_v128_load32_splat(a + 2 * r * pairs)));
        }
    EK_UNROLLED_FOR(4, int32_t r = 0; r < rows; r++) {
        int8_t results[16];
        EK_UNROLLED_FOR(4, int32_t v = 0; v < 4; v++)
            sum[4 * r + v] = rule(sum[4 * r + v], p->multiplier, p->exponent);
        ek_vi_store_s8(count < 16 ? results : y + r * p->columns, sum + 4 * r, p->zero, p->lo, p->hi);
        if (count < 16)
            ek_vi_copy_s8(y + r * p->columns, results, count);
    }
}

/* Multiplies a by what is packed at the beginning of `room`. */
EK_INLINED void ek_multiply_wasm(
    const int8_t *a, int8_t *y, int16_t *room, const struct ek_product_wasm *p, ek_rule_wasm *const rule)
{
    const int32_t pairs = (p->inner + 1) / 2, most = EK_MATRIX_ROWS_WASM;
    int16_t *const rows = room + (p->columns + 15) / 16 * pairs * 32;
    for (int32_t i = 0; i < p->rows;) {
        const int32_t now = i + most <= p->rows ? most : 1;
        for (int32_t r = 0; r < now; r++)
            ek_matrix_row_wasm(a + (i + r) * p->a_row, rows + 2 * r * pairs, p->inner, p->a_zero);
        for (int32_t j = 0; j < p->columns; j += 16) {
            const int32_t left = p->columns - j, count = left < 16 ? left : 16;
            const int16_t *const b = room + j * pairs * 2;
            if (now == most)
                ek_matrix_tile_wasm(rows, b, y + i * p->columns + j, count, most, p, rule);
            else
                ek_matrix_tile_wasm(rows, b, y + i * p->columns + j, count, 1, p, rule);
        }
        i += now;
    }
}

#endif
