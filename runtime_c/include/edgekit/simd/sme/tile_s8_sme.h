/* Sums of products of int8 by outer products (SMOPA), in the four tiles of ZA: a panel of rows times up to four vectors of
 * outputs. Weights are packed as O/16! I/4! o16 i4. */
#ifndef EDGEKIT_TILE_S8_SME_H
#define EDGEKIT_TILE_S8_SME_H

#include "edgekit/simd/sme/rules_sme.h"

/* Four numbers of each row times those of the vectors of outputs. */
#define EK_SMOPA_STEP(at)                                                                                    \
    {                                                                                                        \
        const svint8_t ek_rows = svld1(all, panel + (at));                                                   \
        svmopa_za32_m(0, all, all, ek_rows, svld1(all, w0 + (at)));                                          \
        if (vectors > 1)                                                                                     \
            svmopa_za32_m(1, all, all, ek_rows, svld1(all, w1 + (at)));                                      \
        if (vectors > 2)                                                                                     \
            svmopa_za32_m(2, all, all, ek_rows, svld1(all, w2 + (at)));                                      \
        if (vectors > 3)                                                                                     \
            svmopa_za32_m(3, all, all, ek_rows, svld1(all, w3 + (at)));                                      \
    }

/* A layer as its kernel sees it: packed operands, steps of a row, bounds, and what is added to the sums of each row of a panel,
 * or null. */
struct ek_sme_layer_s8 {
    const int8_t *w;
    const int32_t *b, *m;
    const int8_t *e;
    int32_t steps, outputs, zero, lo, hi;
    const int32_t *terms;
};

/* Biases of outputs from `o` on and all products, for `vectors` vectors. */
EK_INLINED void ek_sme_sums_s8(
    const struct ek_sme_layer_s8 *p, const int8_t *panel, const int32_t o, const int32_t vectors) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes(), *b = p->b + o;
    const svbool_t all = svwhilelt_b8(0, 4 * lanes), each = svwhilelt_b32(0, lanes);
    const int8_t *w0 = (const int8_t *)ek_sme_outputs(p->w, p->steps, o);
    const int8_t *w1 = (const int8_t *)ek_sme_outputs(p->w, p->steps, o + lanes);
    const int8_t *w2 = (const int8_t *)ek_sme_outputs(p->w, p->steps, o + 2 * lanes);
    const int8_t *w3 = (const int8_t *)ek_sme_outputs(p->w, p->steps, o + 3 * lanes);
    const int64_t end = (int64_t)p->steps * EK_SME_STEP;
    int64_t at = 0;
    svzero_za();
    svaddha_za32_m(0, each, each, svld1(each, b));
    if (vectors > 1)
        svaddha_za32_m(1, each, each, svld1(each, b + lanes));
    if (vectors > 2)
        svaddha_za32_m(2, each, each, svld1(each, b + 2 * lanes));
    if (vectors > 3)
        svaddha_za32_m(3, each, each, svld1(each, b + 3 * lanes));
    if (p->terms) {
        const svint32_t terms = svld1(each, p->terms);
        svaddva_za32_m(0, each, each, terms);
        svaddva_za32_m(1, each, each, terms);
        svaddva_za32_m(2, each, each, terms);
        svaddva_za32_m(3, each, each, terms);
    }
    for (; at + 2 * EK_SME_STEP <= end; at += 2 * EK_SME_STEP) {
        EK_SMOPA_STEP(at)
        EK_SMOPA_STEP(at + EK_SME_STEP)
    }
    if (at < end)
        EK_SMOPA_STEP(at)
}

/* The rows of a panel, one to four vectors of outputs from output `o` on. */
EK_INLINED void ek_sme_tile_s8(const struct ek_sme_layer_s8 *p, const void *panel, int8_t *y,
    const int32_t rows, const int32_t o, const int32_t vectors, const int32_t rule) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes(), zero = p->zero, lo = p->lo, hi = p->hi, outputs = p->outputs;
    const int32_t left = outputs - o, n = left < vectors * lanes ? left : vectors * lanes;
    const svbool_t each = svwhilelt_b32(0, lanes);
    const int32_t o1 = vectors > 1 ? o + lanes : o, o2 = vectors > 2 ? o + 2 * lanes : o,
                  o3 = vectors > 3 ? o + 3 * lanes : o;
    ek_sme_sums_s8(p, (const int8_t *)panel, o, vectors);
    const svint32_t m0 = svld1(each, p->m + o), m1 = svld1(each, p->m + o1), m2 = svld1(each, p->m + o2),
                    m3 = svld1(each, p->m + o3), e0 = ek_sme_exponents(rule, p->e, o, each),
                    e1 = ek_sme_exponents(rule, p->e, o1, each), e2 = ek_sme_exponents(rule, p->e, o2, each),
                    e3 = ek_sme_exponents(rule, p->e, o3, each), none = svdup_s32(0);
    for (uint32_t r = 0; r < (uint32_t)rows; r++, y += outputs) {
        const svint32_t a = ek_sme_requantize(rule, svread_hor_za32_m(none, each, 0, r), m0, e0);
        const svint32_t b =
            vectors > 1 ? ek_sme_requantize(rule, svread_hor_za32_m(none, each, 1, r), m1, e1) : a;
        const svint32_t c =
            vectors > 2 ? ek_sme_requantize(rule, svread_hor_za32_m(none, each, 2, r), m2, e2) : a;
        const svint32_t d =
            vectors > 3 ? ek_sme_requantize(rule, svread_hor_za32_m(none, each, 3, r), m3, e3) : c;
        ek_sme_store_s8(y + o, a, b, c, d, n, lanes, zero, lo, hi);
    }
}

/* All outputs of the rows of a panel. */
EK_INLINED void ek_sme_rows_s8(const struct ek_sme_layer_s8 *p, const void *panel, int8_t *y,
    const int32_t rows, const int32_t rule) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes();
    int32_t o = 0;
    for (; o + 3 * lanes < p->outputs; o += 4 * lanes)
        ek_sme_tile_s8(p, panel, y, rows, o, 4, rule);
    if (o + 2 * lanes < p->outputs)
        ek_sme_tile_s8(p, panel, y, rows, o, 3, rule);
    else if (o + lanes < p->outputs)
        ek_sme_tile_s8(p, panel, y, rows, o, 2, rule);
    else if (o < p->outputs)
        ek_sme_tile_s8(p, panel, y, rows, o, 1, rule);
}

#endif
