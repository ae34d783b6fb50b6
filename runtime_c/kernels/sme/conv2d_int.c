/* Convolution of int8. Up to sixteen pixels and four vectors of outputs advance together, by SMOPA.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once
 * @when groups == 1 and step_c == 1 and batch * out_h * out_w >= 4
 * @when batch * out_h * out_w * out_c * k_h * k_w * in_c >= 1048576 @pack w: O/16! HWI/4! o16 hwi4
 * @pack b: O/16! o16 @pack m: O/16! o16 @pack e: O/16! o16 @scratch 64 * ((k_h * k_w * in_c + 3) // 4)
 * @scratch + (0 if k_h * k_w == 1 and stride_h * stride_w == 1 and out_h == in_h and out_w == in_w
 * @scratch else (max(k_w * in_c, 1 if (k_w == 1 or dilation_w == 1) and (k_h == 1 or k_w * in_c % 4 == 0)
 * @scratch else k_h * k_w * in_c) + 15) // 16 * 256) @order pixels 1 @work padded products 1 */
/* Convolution of int8, for rule T with negative exponents, which are almost all.
 * @as sme/conv2d_int.right_shift @without order @rule tfl=tfl_down @when most_exponent < 0
 * @work padded products 0.95 */
/* Convolution of int8 over an image with channels first, where rows of windows are multiples of four.
 * @as sme/conv2d_int.planes @without when step_c == 1, order
 * @when step_c > 1 and step_w == 1 and step_h == in_w and k_w % 4 == 0 and dilation_w == 1
 * @pack w: O/16! I HW/4! o16 hw4 @scratch 64 * in_c * ((k_h * k_w + 3) // 4) + (k_w + 15) // 16 * 256
 * @work padded products 0.902 */
#include "edgekit/contracts/conv2d_int.h"

struct EK_FN_call {
    struct ek_sme_windows windows;
    struct ek_sme_layer_s8 layer;
    int8_t *y;
    int32_t pixels, flat;
};

EK_SHARED static void EK_FN_streaming(const struct EK_FN_call *p) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes(), cell = p->windows.cell;
    for (int32_t v = 0; v < p->pixels; v += lanes) {
        const int32_t left = p->pixels - v, rows = left < lanes ? left : lanes;
        if (p->flat)
            ek_sme_pack(p->windows.panel, p->windows.x + (int64_t)v * cell, cell, rows, cell);
        else
            ek_sme_pack_windows(&p->windows, v, rows);
        ek_sme_rows_s8(&p->layer, p->windows.panel, p->y + v * p->layer.outputs, rows, EK_RULE(kind));
    }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    /* Windows of one cell that lie side by side in x: a row of numbers for each pixel. */
    const int flat = p->k_h == 1 && p->k_w == 1 && p->stride_h == 1 && p->stride_w == 1 && p->out_h == p->in_h
                     && p->out_w == p->in_w && p->step_c == 1;
    const int32_t steps = ek_sme_steps(p->k_h * p->k_w, p->in_c, p->step_c, 1);
    const struct EK_FN_call call = {EK_SME_WINDOWS(p, x, scratch, 1, p->in_zero, steps),
        {w, b, m, e, steps, p->out_c, p->zero, p->lo, p->hi, 0}, y, p->batch * p->out_h * p->out_w, flat};
    EK_RUN_STREAMING(EK_FN_streaming, &call);
}
