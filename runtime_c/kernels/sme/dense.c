/* Fully connected layer. Up to sixteen rows and four vectors of outputs advance together, by FMOPA.
 * @for T=f32 W=f32 B=f32
 * @when rows >= 4 and rows * inputs * outputs >= 262144
 * @pack w: O/16! I o16
 * @pack b: O/16! o16
 * @scratch 64 * inputs
 * @order rows 1 */
#include "edgekit/contracts/dense.h"

struct EK_FN_call {
    const float *x, *w, *b;
    float *y, *panel;
    const struct EK_STRUCT *p;
};

/* One panel, one to four vectors of outputs from output `o` on. */
EK_INLINED void EK_FN_tile(const struct EK_FN_call *call, float *y, const int32_t rows, const int32_t o,
    const int32_t vectors) EK_STREAMING
{
    const struct EK_STRUCT *p = call->p;
    const int32_t outputs = p->outputs;
    const float lo = p->lo, hi = p->hi;
    ek_sme_sums_f32(call->panel, p->inputs, call->w, call->b, o, vectors);
    for (uint32_t r = 0; r < (uint32_t)rows; r++, y += outputs)
        ek_sme_store_f32(y + o, r, outputs - o, vectors, lo, hi);
}

EK_SHARED static void EK_FN_streaming(const struct EK_FN_call *call) EK_STREAMING
{
    const struct EK_STRUCT *p = call->p;
    const int32_t lanes = ek_sme_lanes();
    for (int32_t r = 0; r < p->rows; r += lanes) {
        const int32_t left = p->rows - r, rows = left < lanes ? left : lanes;
        float *y = call->y + r * p->outputs;
        ek_sme_pack(
            (uint8_t *)call->panel, call->x + r * p->inputs, 4 * (int64_t)p->inputs, rows, 4 * p->inputs);
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

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const struct EK_FN_call call = {x, w, b, y, (float *)(void *)scratch, p};
    EK_RUN_STREAMING(EK_FN_streaming, &call);
}
