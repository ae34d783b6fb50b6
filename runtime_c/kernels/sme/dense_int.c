/* Fully connected layer of int8. Up to sixteen rows and four vectors of outputs advance together, by SMOPA.
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule e e_wide tfl once
 * @when rows >= 4 and rows * inputs * outputs >= 1048576
 * @pack w: O/16! I/4! o16 i4
 * @pack b: O/16! o16
 * @pack m: O/16! o16
 * @pack e: O/16! o16
 * @scratch 64 * ((inputs + 3) // 4)
 * @order rows 1 */
#include "edgekit/contracts/dense_int.h"

struct EK_FN_call {
    const int8_t *x, *w;
    const int32_t *b, *m;
    const int8_t *e;
    int8_t *y;
    uint8_t *panel;
    const struct EK_STRUCT *p;
};

/* One panel, one to four vectors of outputs from output `o` on. */
EK_INLINED void EK_FN_tile(const struct EK_FN_call *call, int8_t *y, const int32_t rows, const int32_t o,
    const int32_t vectors) EK_STREAMING
{
    const struct EK_STRUCT *p = call->p;
    const int32_t lanes = ek_sme_lanes(), zero = p->zero, lo = p->lo, hi = p->hi, outputs = p->outputs;
    const int32_t left = outputs - o, n = left < vectors * lanes ? left : vectors * lanes;
    const svbool_t each = svwhilelt_b32(0, lanes);
    const int32_t o1 = vectors > 1 ? o + lanes : o, o2 = vectors > 2 ? o + 2 * lanes : o,
                  o3 = vectors > 3 ? o + 3 * lanes : o;
    ek_sme_sums_s8((const int8_t *)call->panel, (p->inputs + 3) / 4, call->w, call->b, o, vectors);
    const svint32_t m0 = svld1(each, call->m + o), m1 = svld1(each, call->m + o1),
                    m2 = svld1(each, call->m + o2), m3 = svld1(each, call->m + o3),
                    e0 = EK_RULE(exponents)(call->e, o, each), e1 = EK_RULE(exponents)(call->e, o1, each),
                    e2 = EK_RULE(exponents)(call->e, o2, each), e3 = EK_RULE(exponents)(call->e, o3, each),
                    none = svdup_s32(0);
    for (uint32_t r = 0; r < (uint32_t)rows; r++, y += outputs) {
        const svint32_t a = EK_RULE(vector)(svread_hor_za32_m(none, each, 0, r), m0, e0);
        const svint32_t b = vectors > 1 ? EK_RULE(vector)(svread_hor_za32_m(none, each, 1, r), m1, e1) : a;
        const svint32_t c = vectors > 2 ? EK_RULE(vector)(svread_hor_za32_m(none, each, 2, r), m2, e2) : a;
        const svint32_t d = vectors > 3 ? EK_RULE(vector)(svread_hor_za32_m(none, each, 3, r), m3, e3) : c;
        ek_sme_store_s8(y + o, a, b, c, d, n, lanes, zero, lo, hi);
    }
}

EK_SHARED static void EK_FN_streaming(const struct EK_FN_call *call) EK_STREAMING
{
    const struct EK_STRUCT *p = call->p;
    const int32_t lanes = ek_sme_lanes();
    for (int32_t r = 0; r < p->rows; r += lanes) {
        const int32_t left = p->rows - r, rows = left < lanes ? left : lanes;
        int8_t *y = call->y + r * p->outputs;
        ek_sme_pack(call->panel, call->x + r * p->inputs, p->inputs, rows, p->inputs);
        int32_t o = 0;
        for (; o + 3 * lanes < p->outputs; o += 4 * lanes)
            EK_FN_tile(call, y, rows, o, 4);
        if (o + 2 * lanes < p->outputs)
            EK_FN_tile(call, y, rows, o, 3);
        else if (o + lanes < p->outputs)
            EK_FN_tile(call, y, rows, o, 2);
        else if (o < p->outputs)
            EK_FN_tile(call, y, rows, o, 1);
    }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const struct EK_FN_call call = {x, w, b, m, e, y, scratch, p};
    EK_RUN_STREAMING(EK_FN_streaming, &call);
}
