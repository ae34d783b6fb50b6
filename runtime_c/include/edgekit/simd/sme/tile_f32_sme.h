/* Sums of products of floats by outer products (FMOPA), in the four tiles of ZA: a panel of rows times up to four vectors of
 * outputs. A sum begins with its bias; its products are added in order, each rounded once with the sum. Weights are packed as
 * O/16! I o16. */
#ifndef EDGEKIT_TILE_F32_SME_H
#define EDGEKIT_TILE_F32_SME_H

#include "edgekit/simd/sme/panels_sme.h"

/* A number of each row times those of the vectors of outputs. */
#define EK_FMOPA_STEP(at)                                                                                    \
    {                                                                                                        \
        const svfloat32_t ek_rows = svld1(each, panel + (at));                                               \
        svmopa_za32_m(0, each, each, ek_rows, svld1(each, w0 + (at)));                                       \
        if (vectors > 1)                                                                                     \
            svmopa_za32_m(1, each, each, ek_rows, svld1(each, w1 + (at)));                                   \
        if (vectors > 2)                                                                                     \
            svmopa_za32_m(2, each, each, ek_rows, svld1(each, w2 + (at)));                                   \
        if (vectors > 3)                                                                                     \
            svmopa_za32_m(3, each, each, ek_rows, svld1(each, w3 + (at)));                                   \
    }

/* Products of so many steps are added to up to four vectors of sums. Steps of weights are so many floats apart. */
EK_INLINED void ek_sme_add_f32(const float *panel, const int32_t steps, const float *w0, const float *w1,
    const float *w2, const float *w3, const int32_t vectors) EK_STREAMING
{
    const svbool_t each = svwhilelt_b32(0, ek_sme_lanes());
    const int64_t end = 16 * (int64_t)steps;
    int64_t at = 0;
    for (; at + 32 <= end; at += 32) {
        EK_FMOPA_STEP(at)
        EK_FMOPA_STEP(at + 16)
    }
    if (at < end)
        EK_FMOPA_STEP(at)
}

/* Biases of outputs from `o` on and products of so many steps, for `vectors` vectors. */
EK_INLINED void ek_sme_sums_f32(const float *panel, const int32_t steps, const void *w, const float *b,
    const int32_t o, const int32_t vectors) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes();
    const svbool_t each = svwhilelt_b32(0, lanes);
    const svfloat32_t one = svdup_f32(1.0F);
    svzero_za();
    svmopa_za32_m(0, each, each, one, svld1(each, b + o));
    if (vectors > 1)
        svmopa_za32_m(1, each, each, one, svld1(each, b + o + lanes));
    if (vectors > 2)
        svmopa_za32_m(2, each, each, one, svld1(each, b + o + 2 * lanes));
    if (vectors > 3)
        svmopa_za32_m(3, each, each, one, svld1(each, b + o + 3 * lanes));
    ek_sme_add_f32(panel, steps, (const float *)(const void *)ek_sme_outputs(w, steps, o),
        (const float *)(const void *)ek_sme_outputs(w, steps, o + lanes),
        (const float *)(const void *)ek_sme_outputs(w, steps, o + 2 * lanes),
        (const float *)(const void *)ek_sme_outputs(w, steps, o + 3 * lanes), vectors);
}

/* The first n of a row's sums in up to four tiles, clamped. */
EK_INLINED void ek_sme_store_f32(float *y, const uint32_t row, const int32_t n, const int32_t vectors,
    const float lo, const float hi) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes();
    const svbool_t each = svwhilelt_b32(0, n < lanes ? n : lanes);
    const svfloat32_t none = svdup_f32(0.0F);
    svst1(each, y, svmin_x(each, svmax_x(each, svread_hor_za32_m(none, each, 0, row), lo), hi));
    if (vectors > 1) {
        const svbool_t some = svwhilelt_b32(0, n - lanes < lanes ? n - lanes : lanes);
        svst1(some, y + lanes, svmin_x(some, svmax_x(some, svread_hor_za32_m(none, some, 1, row), lo), hi));
    }
    if (vectors > 2) {
        const svbool_t some = svwhilelt_b32(0, n - 2 * lanes < lanes ? n - 2 * lanes : lanes);
        svst1(
            some, y + 2 * lanes, svmin_x(some, svmax_x(some, svread_hor_za32_m(none, some, 2, row), lo), hi));
    }
    if (vectors > 3) {
        const svbool_t some = svwhilelt_b32(0, n - 3 * lanes < lanes ? n - 3 * lanes : lanes);
        svst1(
            some, y + 3 * lanes, svmin_x(some, svmax_x(some, svread_hor_za32_m(none, some, 3, row), lo), hi));
    }
}

#endif
