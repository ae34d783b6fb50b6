/* Sums of products of int8 by outer products (SMOPA), in the four tiles of ZA: a panel of rows times up to four vectors of
 * outputs. Weights are packed as O/16! I/4! o16 i4. */
#ifndef EDGEKIT_TILE_S8_SME_H
#define EDGEKIT_TILE_S8_SME_H

#include "edgekit/simd/sme/panels_sme.h"

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

/* Biases of outputs from `o` on and products of so many steps, for `vectors` vectors. */
EK_INLINED void ek_sme_sums_s8(const int8_t *panel, const int32_t steps, const void *w, const int32_t *b,
    const int32_t o, const int32_t vectors) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes();
    const svbool_t all = svwhilelt_b8(0, 4 * lanes), each = svwhilelt_b32(0, lanes);
    const int8_t *w0 = (const int8_t *)ek_sme_outputs(w, steps, o);
    const int8_t *w1 = (const int8_t *)ek_sme_outputs(w, steps, o + lanes);
    const int8_t *w2 = (const int8_t *)ek_sme_outputs(w, steps, o + 2 * lanes);
    const int8_t *w3 = (const int8_t *)ek_sme_outputs(w, steps, o + 3 * lanes);
    const int64_t end = (int64_t)steps * EK_SME_STEP;
    int64_t at = 0;
    svzero_za();
    svaddha_za32_m(0, each, each, svld1(each, b + o));
    if (vectors > 1)
        svaddha_za32_m(1, each, each, svld1(each, b + o + lanes));
    if (vectors > 2)
        svaddha_za32_m(2, each, each, svld1(each, b + o + 2 * lanes));
    if (vectors > 3)
        svaddha_za32_m(3, each, each, svld1(each, b + o + 3 * lanes));
    for (; at + 2 * EK_SME_STEP <= end; at += 2 * EK_SME_STEP) {
        EK_SMOPA_STEP(at)
        EK_SMOPA_STEP(at + EK_SME_STEP)
    }
    if (at < end)
        EK_SMOPA_STEP(at)
}

#endif
