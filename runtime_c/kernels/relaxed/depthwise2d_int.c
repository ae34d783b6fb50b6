/* Depthwise convolution of int8: see depthwise_s8_wasm.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once @when in_c == out_c and least_weight > -128
 * @pack w: O/8! H W I o8 @pack b: O/8! o8 @pack m: O/8! o8 @pack e: O/8! o8 @fold b: -128 w
 * @scratch (in_c + 7) // 8 * (144 + (k_h + 3) // 4 * k_w * 32)
 * @scratch + (k_h + 3) // 4 * (((out_w - 1) * stride_w + (k_w - 1) * dilation_w + 1) * in_c * 4 + 64)
 * @order lines 8 @work padded products 1 */
/* Depthwise convolution of int8. As the one for relaxed vectors, with taps of 16 bits.
 * @as wasm/depthwise2d_int four=two @without when, fold @when in_c == out_c
 * @scratch (in_c + 7) // 8 * (144 + (k_h + 1) // 2 * k_w * 32)
 * @scratch + ((k_h + 1) // 2 + 2 * dilation_h - 1) * 64
 * @scratch + ((k_h + 1) // 2 + 2 * dilation_h - 1) * ((out_w - 1) * stride_w + (k_w - 1) * dilation_w + 1) * in_c * 4
 * @work padded products 7.25 */
#include "edgekit/contracts/depthwise2d_int.h"

/* Once for all layers: modules are fetched. */
static EK_SHARED void EK_FN_all(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w,
    const EK_S *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t size = p->in_h * p->in_w * p->in_c;
    for (int32_t n = 0; n < p->batch; n++) {
        const struct ek_taps_s8_wasm taps = {x + n * size, w, b, m, e, y + n * p->out_h * p->out_w * p->out_c,
            scratch, p->in_h, p->in_w, p->in_c, p->out_h, p->out_w, p->k_h, p->k_w, p->stride_h, p->stride_w,
            p->pad_top, p->pad_left, p->dilation_h, p->dilation_w, p->in_zero, ek_four_unsigned_wasm(),
            {EK_RULE(one), EK_RULE(kind), 1, p->zero, p->lo, p->hi}};
        ek_four_taps_wasm(&taps);
    }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_all(x, w, b, m, e, y, scratch, p);
}
