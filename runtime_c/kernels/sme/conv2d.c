/* Convolution of floats. Up to sixteen pixels and four vectors of outputs advance together, by FMOPA.
 * @for T=f32 W=f32 B=f32 @also conv2d_add @when groups == 1 and step_c == 1 and batch * out_h * out_w >= 4
 * @when batch * out_h * out_w * out_c * k_h * k_w * in_c >= 262144 @pack w: O/16! HWI o16
 * @pack b: O/16! o16 @scratch 64 * k_h * k_w * in_c
 * @scratch + (0 if k_h * k_w == 1 and stride_h * stride_w == 1 and out_h == in_h and out_w == in_w
 * @scratch else (k_w * in_c if k_w == 1 or dilation_w == 1 else k_h * k_w * in_c) * 64 + 256)
 * @order pixels 1 @work padded products 1 */
/* Convolution of floats over an image with channels first.
 * @as sme/conv2d.planes @without when step_c == 1, order
 * @when step_c > 1 and step_w == 1 and step_h == in_w @pack w: O/16! I HW o16
 * @scratch 64 * k_h * k_w * in_c + (k_w if k_w == 1 or dilation_w == 1 else k_h * k_w) * 64 + 256
 * @work padded products 0.95 */
#include "edgekit/contracts/conv2d.h"

struct EK_FN_call {
    struct ek_sme_windows windows;
    struct ek_sme_layer_f32 layer;
    const float *r;
    float *y;
    int32_t pixels, flat;
};

EK_SHARED static void EK_FN_streaming(const struct EK_FN_call *p) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes(), cell = p->windows.cell;
    for (int32_t v = 0; v < p->pixels; v += lanes) {
        const int32_t left = p->pixels - v, rows = left < lanes ? left : lanes, at = v * p->layer.outputs;
        if (p->flat)
            ek_sme_pack(p->windows.panel, p->windows.x + (int64_t)v * cell, cell, rows, cell);
        else
            ek_sme_pack_windows(&p->windows, v, rows);
        ek_sme_rows_f32(&p->layer, p->windows.panel, p->r ? p->r + at : 0, p->y + at, rows);
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_IF_R(const EK_T *r, ) EK_T *EK_RESTRICT y, uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    /* Windows of one cell that lie side by side in x: a row of numbers for each pixel. */
    const int flat = p->k_h == 1 && p->k_w == 1 && p->stride_h == 1 && p->stride_w == 1 && p->out_h == p->in_h
                     && p->out_w == p->in_w && p->step_c == 1;
    const int32_t steps = ek_sme_steps(p->k_h * p->k_w, p->in_c, p->step_c, 4);
    const float *addend = 0;
    EK_IF_R(addend = r;)
    const struct EK_FN_call call = {EK_SME_WINDOWS(p, x, scratch, 4, 0, steps),
        {w, b, steps, p->out_c, p->lo, p->hi}, addend, y, p->batch * p->out_h * p->out_w, flat};
    EK_RUN_STREAMING(EK_FN_streaming, &call);
}
