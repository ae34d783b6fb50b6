/* Fully connected layer of int8. Up to sixteen rows and four vectors of outputs advance together, by SMOPA.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once @when rows >= 4 and rows * inputs * outputs >= 1048576
 * @pack w: O/16! I/4! o16 i4 @pack b: O/16! o16 @pack m: O/16! o16 @pack e: O/16! o16
 * @scratch 64 * ((inputs + 3) // 4) @order rows 1 */
#include "edgekit/contracts/dense_int.h"

struct EK_FN_call {
    const int8_t *x;
    int8_t *y;
    uint8_t *panel;
    int32_t rows, inputs;
    struct ek_sme_layer_s8 layer;
};

EK_SHARED static void EK_FN_streaming(const struct EK_FN_call *p) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes();
    for (int32_t r = 0; r < p->rows; r += lanes) {
        const int32_t left = p->rows - r, rows = left < lanes ? left : lanes;
        ek_sme_pack(p->panel, p->x + r * p->inputs, p->inputs, rows, p->inputs);
        ek_sme_rows_s8(&p->layer, p->panel, p->y + r * p->layer.outputs, rows, EK_RULE(kind));
    }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const struct EK_FN_call call = {x, y, scratch, p->rows, p->inputs,
        {w, b, m, e, (p->inputs + 3) / 4, p->outputs, p->zero, p->lo, p->hi, 0}};
    EK_RUN_STREAMING(EK_FN_streaming, &call);
}
