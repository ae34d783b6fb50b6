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
    if (b) {
        svmopa_za32_m(0, each, each, one, svld1(each, b + o));
        if (vectors > 1)
            svmopa_za32_m(1, each, each, one, svld1(each, b + o + lanes));
        if (vectors > 2)
            svmopa_za32_m(2, each, each, one, svld1(each, b + o + 2 * lanes));
        if (vectors > 3)
            svmopa_za32_m(3, each, each, one, svld1(each, b + o + 3 * lanes));
    }
    ek_sme_add_f32(panel, steps, (const float *)(const void *)ek_sme_outputs(w, steps, o),
        (const float *)(const void *)ek_sme_outputs(w, steps, o + lanes),
        (const float *)(const void *)ek_sme_outputs(w, steps, o + 2 * lanes),
        (const float *)(const void *)ek_sme_outputs(w, steps, o + 3 * lanes), vectors);
}

/* A layer as its kernel sees it: packed operands, steps of a row, and bounds. */
struct ek_sme_layer_f32 {
    const float *w, *b; /* without biases b is null */
    int32_t steps, outputs;
    float lo, hi;
};

/* A vector of a row's sums, and what is added to it, if anything, clamped. */
EK_INLINED void ek_sme_store_f32(float *y, const float *add, const svfloat32_t sums, const int32_t n,
    const float lo, const float hi) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes();
    const svbool_t some = svwhilelt_b32(0, n < lanes ? n : lanes);
    const svfloat32_t v = add ? svadd_x(some, sums, svld1(some, add)) : sums;
    svst1(some, y, svmin_x(some, svmax_x(some, v, lo), hi));
}

/* The rows of a panel, one to four vectors of outputs from output `o` on. `add` is as large as y, or null. */
EK_INLINED void ek_sme_tile_f32(const struct ek_sme_layer_f32 *p, const void *panel, const float *add,
    float *y, const int32_t rows, const int32_t o, const int32_t vectors) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes(), outputs = p->outputs, n = outputs - o;
    const float lo = p->lo, hi = p->hi;
    const svbool_t each = svwhilelt_b32(0, lanes);
    const svfloat32_t none = svdup_f32(0.0F);
    ek_sme_sums_f32((const float *)panel, p->steps, p->w, p->b, o, vectors);
    y += o;
    if (add)
        add += o;
    for (uint32_t r = 0; r < (uint32_t)rows; r++, y += outputs, add = add ? add + outputs : 0) {
        ek_sme_store_f32(y, add, svread_hor_za32_m(none, each, 0, r), n, lo, hi);
        if (vectors > 1)
            ek_sme_store_f32(
                y + lanes, add ? add + lanes : 0, svread_hor_za32_m(none, each, 1, r), n - lanes, lo, hi);
        if (vectors > 2)
            ek_sme_store_f32(y + 2 * lanes, add ? add + 2 * lanes : 0, svread_hor_za32_m(none, each, 2, r),
                n - 2 * lanes, lo, hi);
        if (vectors > 3)
            ek_sme_store_f32(y + 3 * lanes, add ? add + 3 * lanes : 0, svread_hor_za32_m(none, each, 3, r),
                n - 3 * lanes, lo, hi);
    }
}

/* All outputs of the rows of a panel. */
EK_INLINED void ek_sme_rows_f32(const struct ek_sme_layer_f32 *p, const void *panel, const float *add,
    float *y, const int32_t rows) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes();
    int32_t o = 0;
    for (; o + 3 * lanes < p->outputs; o += 4 * lanes)
        ek_sme_tile_f32(p, panel, add, y, rows, o, 4);
    if (o + 2 * lanes < p->outputs)
        ek_sme_tile_f32(p, panel, add, y, rows, o, 3);
    else if (o + lanes < p->outputs)
        ek_sme_tile_f32(p, panel, add, y, rows, o, 2);
    else if (o < p->outputs)
        ek_sme_tile_f32(p, panel, add, y, rows, o, 1);
}

#endif
