/* Fully connected layer. Up to sixteen rows and four vectors of outputs advance together, by FMOPA.
 * @for T=f32 W=f32 B=f32 @when rows >= 4 and rows * inputs * outputs >= 262144 @pack w: O/16! I o16
 * @pack b: O/16! o16 @scratch 64 * inputs @order rows 1 */
#include "edgekit/contracts/dense.h"

struct EK_FN_call {
    const float *x;
    float *y;
    uint8_t *panel;
    int32_t rows;
    struct ek_sme_layer_f32 layer;
};

EK_SHARED static void EK_FN_streaming(const struct EK_FN_call *p) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes(), inputs = p->layer.steps;
    for (int32_t r = 0; r < p->rows; r += lanes) {
        const int32_t left = p->rows - r, rows = left < lanes ? left : lanes;
        ek_sme_pack(p->panel, p->x + r * inputs, 4 * (int64_t)inputs, rows, 4 * inputs);
        ek_sme_rows_f32(&p->layer, p->panel, 0, p->y + r * p->layer.outputs, rows);
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const struct EK_FN_call call = {x, y, scratch, p->rows, {w, b, p->inputs, p->outputs, p->lo, p->hi}};
    EK_RUN_STREAMING(EK_FN_streaming, &call);
}
