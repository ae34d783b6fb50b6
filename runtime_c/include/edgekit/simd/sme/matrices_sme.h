/* Products of matrices (SME): the second matrix is packed as weights are, once for all rows of the first. */
#ifndef EDGEKIT_MATRICES_SME_H
#define EDGEKIT_MATRICES_SME_H

#include "edgekit/simd/sme/tile_f32_sme.h"
#include "edgekit/simd/sme/tile_s8_sme.h"

/* Bytes of so many columns that are packed in so many steps. */
#define EK_SME_PACKED(columns, steps) (((columns) + 15) / 16 * EK_SME_STEP * (steps))

/* Where the vector of columns from `j` on is packed. */
EK_INLINED uint8_t *ek_sme_packed(uint8_t *packed, const int32_t steps, const int32_t j) EK_STREAMING
{
    return packed + (int64_t)(j / 16) * EK_SME_STEP * steps + 4 * (j % 16);
}

/* A matrix whose columns are rows in memory, so many bytes apart. */
static EK_SHARED void ek_sme_pack_transposed(uint8_t *packed, const void *b, const int64_t apart,
    const int32_t columns, const int32_t bytes) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes(), steps = (bytes + 3) / 4;
    for (int32_t j = 0; j < columns; j += lanes)
        ek_sme_pack(ek_sme_packed(packed, steps, j), (const uint8_t *)b + j * apart, apart,
            columns - j < lanes ? columns - j : lanes, bytes);
}

/* The same of floats, so many elements apart. */
EK_INLINED void ek_sme_pack_transposed_f32(uint8_t *packed, const float *b, const int64_t apart,
    const int32_t columns, const int32_t inner) EK_STREAMING
{
    ek_sme_pack_transposed(packed, b, 4 * apart, columns, 4 * inner);
}

/* A matrix of floats, whose rows are so many elements apart. */
static EK_SHARED void ek_sme_pack_f32(uint8_t *packed, const float *b, const int64_t apart,
    const int32_t columns, const int32_t inner) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes();
    const svbool_t each = svwhilelt_b32(0, lanes);
    for (int32_t j = 0; j < columns; j += lanes) {
        const svbool_t some = svwhilelt_b32(0, columns - j < lanes ? columns - j : lanes);
        const float *from = b + j;
        float *to = (float *)(void *)ek_sme_packed(packed, inner, j);
        for (int32_t k = 0; k < inner; k++, from += apart, to += EK_SME_STEP / 4)
            svst1(each, to, svld1(some, from));
    }
}

/* A matrix of int8. Of four rows the bytes of a column become a number. */
static EK_SHARED void ek_sme_pack_s8(uint8_t *packed, const void *b, const int64_t apart,
    const int32_t columns, const int32_t inner) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes(), steps = (inner + 3) / 4;
    const svbool_t each = svwhilelt_b32(0, lanes);
    for (int32_t j = 0; j < columns; j += lanes) {
        const svbool_t some = svwhilelt_b32(0, columns - j < lanes ? columns - j : lanes);
        const uint8_t *from = (const uint8_t *)b + j;
        uint32_t *to = (uint32_t *)(void *)ek_sme_packed(packed, steps, j);
        for (int32_t k = 0; k < inner; k += 4, from += 4 * apart, to += EK_SME_STEP / 4) {
            svuint32_t four = svld1ub_u32(some, from);
            if (k + 1 < inner)
                four = svorr_x(each, four, svlsl_x(each, svld1ub_u32(some, from + apart), 8));
            if (k + 2 < inner)
                four = svorr_x(each, four, svlsl_x(each, svld1ub_u32(some, from + 2 * apart), 16));
            if (k + 3 < inner)
                four = svorr_x(each, four, svlsl_x(each, svld1ub_u32(some, from + 3 * apart), 24));
            svst1(each, to, four);
        }
    }
}

/* What zero points add to sums: a constant less the numbers of each row of a panel, or of a vector of columns, times a factor. */
EK_INLINED void ek_sme_terms(int32_t *terms, const uint8_t *panel, const int32_t steps, const int32_t factor,
    const int32_t constant) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes();
    const svbool_t all = svwhilelt_b8(0, 4 * lanes), each = svwhilelt_b32(0, lanes);
    svint32_t sum = svdup_s32(0);
    for (int32_t k = 0; k < steps; k++, panel += EK_SME_STEP)
        sum = svdot(sum, svld1(all, (const int8_t *)panel), svdup_s8(1));
    svst1(each, terms, svmls_x(each, svdup_s32(constant), sum, factor));
}

/* Memory for the products of int8, behind what is packed: a panel, terms of its rows, terms of columns, and what rules need. */
EK_INLINE struct ek_sme_layer_s8 ek_sme_product_s8(uint8_t *scratch, const int32_t inner,
    const int32_t columns, const int32_t multiplier, const int32_t exponent)
{
    const int32_t steps = (inner + 3) / 4, padded = (columns + 15) / 16 * 16;
    int32_t *terms = (int32_t *)(void *)(scratch + EK_SME_PACKED(columns, steps) + EK_SME_STEP * steps);
    int32_t *m = terms + 16 + padded;
    int8_t *e = (int8_t *)(m + padded);
    const struct ek_sme_layer_s8 layer = {
        (const int8_t *)scratch, terms + 16, m, e, steps, columns, 0, 0, 0, terms};
    for (int32_t j = 0; j < padded; j++) {
        m[j] = multiplier;
        e[j] = (int8_t)exponent;
    }
    return layer;
}

/* A product with a matrix of int8 that is packed at `scratch`. Rows of a are so many elements apart. */
EK_INLINED void ek_sme_multiply_s8(const struct ek_sme_layer_s8 *p, uint8_t *scratch, const int8_t *a,
    const int64_t apart, int8_t *y, const int32_t count, const int32_t inner, const int32_t a_zero,
    const int32_t b_zero, const int32_t rule) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes(), columns = p->outputs;
    uint8_t *panel = scratch + EK_SME_PACKED(columns, p->steps);
    int32_t *terms = (int32_t *)(void *)(panel + EK_SME_STEP * p->steps);
    for (int32_t j = 0; j < columns; j += lanes)
        ek_sme_terms(
            terms + 16 + j, ek_sme_packed(scratch, p->steps, j), p->steps, a_zero, inner * a_zero * b_zero);
    for (int32_t i = 0; i < count; i += lanes, a += lanes * apart, y += lanes * columns) {
        const int32_t rows = count - i < lanes ? count - i : lanes;
        ek_sme_pack(panel, a, apart, rows, inner);
        ek_sme_terms(terms, panel, p->steps, b_zero, 0);
        ek_sme_rows_s8(p, panel, y, rows, rule);
    }
}

/* The same of floats, without bounds. */
EK_INLINED void ek_sme_multiply_f32(uint8_t *scratch, const float *a, const int64_t apart, float *y,
    const int32_t count, const int32_t inner, const int32_t columns) EK_STREAMING
{
    const struct ek_sme_layer_f32 layer = {
        (const float *)(void *)scratch, 0, inner, columns, -__builtin_inff(), __builtin_inff()};
    const int32_t lanes = ek_sme_lanes();
    uint8_t *panel = scratch + EK_SME_PACKED(columns, inner);
    for (int32_t i = 0; i < count; i += lanes, a += lanes * apart, y += lanes * columns) {
        const int32_t rows = count - i < lanes ? count - i : lanes;
        ek_sme_pack(panel, a, 4 * apart, rows, 4 * inner);
        ek_sme_rows_f32(&layer, panel, 0, y, rows);
    }
}

#endif
