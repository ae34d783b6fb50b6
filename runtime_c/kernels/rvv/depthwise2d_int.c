/* Depthwise convolution of int8. As many channels of a pixel advance together as a vector of sums holds. Two products
 * are added in 16 bits, which suffice unless both factors are -128.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl tfl_up once @when in_c == out_c and least_weight > -128
 * @pack w: H W O I @scratch in_c @order lines 16
 * @work calls 407, positions 27, products by 32 outputs 0.491, weights 0.88 */
/* Depthwise convolution of int8, for rule T with negative exponents, which are almost all.
 * @as rvv/depthwise2d_int.right_shift @rule tfl=tfl_down tfl_up=tfl_down_up @when most_exponent < 0
 * @work positions 24.9, products by 32 outputs 0.481 */
#include "edgekit/contracts/depthwise2d_int.h"

/* `vl` channels of one pixel. Cells outside of the image are read from `outside`. */
EK_INLINE vint32m4_t EK_FN_window(const int8_t *image, const int8_t *EK_RESTRICT outside,
    const int8_t *EK_RESTRICT w, const vint32m4_t bias, const int32_t top, const int32_t left,
    const int is_inside, const size_t vl, const struct EK_STRUCT *p)
{
    vint32m4_t sum = bias;
    vint16m2_t pair = __riscv_vmv_v_x_i16m2(0, vl);
    int is_odd = 0;
    EK_UNROLLED_FOR(4, int32_t i = 0; i < p->k_h; i++) {
        const int32_t row = top + i * p->dilation_h;
        const int8_t *const line = image + (row * p->in_w + left) * p->in_c;
        const int is_row = is_inside || (row >= 0 && row < p->in_h);
        EK_UNROLLED_FOR(4, int32_t j = 0; j < p->k_w; j++, is_odd = !is_odd) {
            const int32_t column = left + j * p->dilation_w;
            const int is_cell = is_inside || (is_row && column >= 0 && column < p->in_w);
            const int8_t *const cell = is_cell ? line + j * p->dilation_w * p->in_c : outside;
            const vint8m1_t x = __riscv_vle8_v_i8m1(cell, vl);
            const vint8m1_t v = __riscv_vle8_v_i8m1(w + (i * p->k_w + j) * p->out_c, vl);
            if (is_odd)
                sum = __riscv_vwadd_wv_i32m4(sum, __riscv_vwmacc_vv_i16m2(pair, x, v, vl), vl);
            else
                pair = __riscv_vwmul_vv_i16m2(x, v, vl);
        }
    }
    return is_odd ? __riscv_vwadd_wv_i32m4(sum, pair, vl) : sum;
}

/* `vl` channels of a row of pixels. */
EK_INLINE void EK_FN_line(const int8_t *image, const int8_t *EK_RESTRICT outside, const int8_t *EK_RESTRICT w,
    const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, int8_t *y,
    const int32_t o, const int32_t top, const int is_inside, const size_t vl, const struct EK_STRUCT *p)
{
    const int32_t zero = p->zero, lo = p->lo, hi = p->hi, span = (p->k_w - 1) * p->dilation_w;
    const vint32m4_t bias = __riscv_vle32_v_i32m4(b + o, vl);
    for (int32_t v = 0, left = -p->pad_left; v < p->out_w; v++, left += p->stride_w) {
        vint32m4_t sum;
        if (is_inside && left >= 0 && left + span < p->in_w)
            sum = EK_FN_window(image, outside, w, bias, top, left, 1, vl, p);
        else
            sum = EK_FN_window(image, outside, w, bias, top, left, 0, vl, p);
        ek_m4_finish(y + v * p->out_c, EK_RULE(m4)(sum, m, e, o, vl), zero, lo, hi, vl);
    }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    int8_t *const outside = (int8_t *)scratch;
    ek_fill_rvv(outside, p->in_zero, p->in_c);
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++, y += p->out_w * p->out_c) {
            const int32_t top = h * p->stride_h - p->pad_top;
            const int is_inside = top >= 0 && top + (p->k_h - 1) * p->dilation_h < p->in_h;
            for (int32_t o = 0, vl = 0; o < p->out_c; o += vl) {
                vl = (int32_t)__riscv_vsetvl_e32m4((size_t)(p->out_c - o));
                EK_FN_line(x + o, outside, w + o, b, m, e, y + o, o, top, is_inside, (size_t)vl, p);
            }
        }
}
