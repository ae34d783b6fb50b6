/* Depthwise convolution of int8. Sixteen channels of a row of pixels advance together; two products are added in 16
 * bits, which suffice unless all four factors are -128.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once @when in_c == out_c and least_weight > -128
 * @pack w: H W O/16! I o16 @pack b: O/16! o16 @pack m: O/16! o16 @pack e: O/16! o16 @scratch in_w * in_c
 * @order lines 16 @work padded products 0.662 */
/* Depthwise convolution of int8, for rule T with negative exponents, which are almost all.
 * @as neon/depthwise2d_int.right_shift @rule tfl=tfl_down @when most_exponent < 0 @work padded products 0.524 */
/* Depthwise convolution of int8 with weights of -128, product by product.
 * @as neon/depthwise2d_int.one_product two=one @without when @when in_c == out_c @work padded products 0.715
 * @as neon32/depthwise2d_int.one_product c16=c8 two=one @without when @when in_c == out_c @order lines 8
 * @work padded products 1.02 */
/* Depthwise convolution of int8 with windows of 3 x 3, whose weights stay in registers for a row of pixels.
 * @as dotprod/depthwise2d_int.k3x3 any=three @when k_h == 3 and k_w == 3 @work padded products 0.553
 * @as neon32/depthwise2d_int.k3x3 c16=c8 any=three @when k_h == 3 and k_w == 3 @order lines 8
 * @work padded products 0.766 */
/* Depthwise convolution of int8 with windows of 3 x 3, for rule T with negative exponents.
 * @as dotprod/depthwise2d_int.right_shift any=three @rule tfl=tfl_down
 * @when k_h == 3 and k_w == 3 and most_exponent < 0 @work padded products 0.537
 * @as neon32/depthwise2d_int.right_shift c16=c8 like dotprod/depthwise2d_int.right_shift @order lines 8
 * @work padded products 0.758 */
/* Depthwise convolution of int8. Eight channels of a row of pixels advance together.
 * @as neon32/depthwise2d_int c16=c8 @order lines 8 @work padded products 0.975 */
#include "edgekit/contracts/depthwise2d_int.h"

/* `n` channels of one pixel, sums of which begin with `start`. Cells outside of the image are read from `outside`. */
EK_INLINE void EK_FN_pixel(const int8_t *image, const int8_t *EK_RESTRICT outside,
    const int8_t *EK_RESTRICT w, const ek_c16_cells *held, const ek_c16_sums start, const int32x4_t *factor,
    const int32x4_t *exponent, int8_t *y, const int32_t top, const int32_t left, const int is_inside,
    const int32_t n, const struct EK_STRUCT *p)
{
    const int32_t k_h = EK_ANY_SIDE(p->k_h), k_w = EK_ANY_SIDE(p->k_w), channels = 4 * EK_C16_PARTS;
    const int32_t step = (p->out_c + 15) / 16 * 16; /* from tap to tap of w */
    ek_c16_sums sums = start;
    ek_c16_cells before = held[0], of_before = held[0];
    int is_second = 0;
    EK_UNROLLED_FOR(EK_TAP_TURNS, int32_t i = 0; i < k_h; i++) {
        const int32_t row = top + i * p->dilation_h;
        const int8_t *const line = row < 0 || row >= p->in_h ? outside : image + row * p->in_w * p->in_c;
        EK_UNROLLED_FOR(EK_TAP_TURNS, int32_t j = 0; j < k_w; j++, is_second = !is_second) {
            const int32_t tap = i * k_w + j, column = left + j * p->dilation_w;
            const int is_cell = is_inside || (column >= 0 && column < p->in_w);
            const ek_c16_cells x = ek_c16_load(is_cell ? line + column * p->in_c : outside, n);
            const ek_c16_cells v =
                EK_ANY_TAPS ? held[EK_ANY_TAPS ? tap : 0] : ek_c16_load(w + tap * step, channels);
            if (EK_TWO_PRODUCTS == 1)
                sums = ek_c16_add(sums, x, x, v, v, 1);
            else if (is_second)
                sums = ek_c16_add(sums, before, x, of_before, v, 2);
            before = x;
            of_before = v;
        }
    }
    if (EK_TWO_PRODUCTS == 2 && is_second)
        sums = ek_c16_add(sums, before, before, of_before, of_before, 1);
    EK_UNROLLED_FOR(4, int32_t k = 0; k < EK_C16_PARTS; k++)
        sums.val[k] = EK_RULE(x4)(sums.val[k], factor[k], exponent[k]);
    ek_c16_finish(y, sums, p->zero, p->lo, p->hi, n);
}

/* `n` channels from number `o` on of a row of pixels. */
EK_INLINE void EK_FN_line(const int8_t *image, const int8_t *EK_RESTRICT outside, const int8_t *EK_RESTRICT w,
    const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, int8_t *y,
    const int32_t o, const int32_t top, const int32_t n, const struct EK_STRUCT *p)
{
    const int32_t channels = 4 * EK_C16_PARTS, step = (p->out_c + 15) / 16 * 16;
    const int32_t end = p->in_w - (EK_ANY_SIDE(p->k_w) - 1) * p->dilation_w;
    ek_c16_cells held[EK_ANY_TAPS + 1];
    ek_c16_sums start;
    int32x4_t factor[EK_C16_PARTS], exponent[EK_C16_PARTS];
    EK_UNROLLED_FOR(4, int32_t k = 0; k < EK_C16_PARTS; k++) {
        start.val[k] = vld1q_s32(b + o + 4 * k);
        factor[k] = vld1q_s32(m + o + 4 * k);
        exponent[k] = EK_RULE(load)(e, o + 4 * k);
    }
    held[0] = ek_c16_load(w, channels);
    EK_UNROLLED_FOR(9, int32_t tap = 1; tap < EK_ANY_TAPS; tap++)
        held[tap] = ek_c16_load(w + tap * step, channels);
    int32_t v = 0, left = -p->pad_left;
    for (; EK_ANY_BORDERS && v < p->out_w && left < 0; v++, left += p->stride_w)
        EK_FN_pixel(image, outside, w, held, start, factor, exponent, y + v * p->out_c, top, left, 0, n, p);
    for (; EK_ANY_BORDERS && v < p->out_w && left < end; v++, left += p->stride_w)
        EK_FN_pixel(image, outside, w, held, start, factor, exponent, y + v * p->out_c, top, left, 1, n, p);
    for (int32_t rest = p->out_w - v; rest > 0; rest--, v++, left += p->stride_w)
        EK_FN_pixel(image, outside, w, held, start, factor, exponent, y + v * p->out_c, top, left, 0, n, p);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t n = p->out_c < 4 * EK_C16_PARTS ? p->out_c : 4 * EK_C16_PARTS;
    int8_t *const outside = (int8_t *)scratch;
    EK_ROLLED_FOR(int32_t i = 0; i < p->in_w * p->in_c; i++)
        outside[i] = (int8_t)p->in_zero;
    for (int32_t batch = 0; batch < p->batch; batch++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++, y += p->out_w * p->out_c)
            for (int32_t at = 0; at < p->out_c; at += n) {
                const int32_t o =
                    at + n <= p->out_c ? at : p->out_c - n; /* the last ones may be computed twice */
                EK_FN_line(x + o, outside, w + o, b, m, e, y + o, o, h * p->stride_h - p->pad_top, n, p);
            }
}
