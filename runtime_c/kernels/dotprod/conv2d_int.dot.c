/* Convolution of int8. Four pixels of a row and sixteen outputs advance together, by SDOT. Windows that lie inside of
 * the image are read where they are; others are gathered first.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once @when groups == 1 or out_c % (4 * groups) == 0
 * @pack w: G O/16!4 HWI/4! o16 hwi4 @pack b: O/16! o16 @pack m: O/16! o16 @pack e: O/16! o16
 * @scratch 16 if k_h * k_w == 1 and stride_h * stride_w == 1 and out_h == in_h and out_w == in_w and step_c == 1
 * @scratch else 4 * ((k_h * k_w * in_c + 15) // 16 * 16) @order pixels 4 4 @work padded products 0.25 */
/* Convolution of int8, for rule T with negative exponents, which are almost all.
 * @as dotprod/conv2d_int.right_shift @rule tfl=tfl_down @when most_exponent < 0 @work padded products 0.247
 * @as i8mm/conv2d_int.right_shift dot=mmla @rule tfl=tfl_down @when most_exponent < 0
 * @pack w: G O/16!4 HWI/8! o16 hwi8 @work padded products 0.95
 * @as neon/conv2d_int.right_shift dot=madd like i8mm/conv2d_int.right_shift @when least_weight > -128
 * @pack w: G O/8!4 HWI/16! o8 hwi16 @work padded products 0.902 */
/* Convolution of int8. Four pixels of a row and sixteen outputs advance together, by SMMLA.
 * @as i8mm/conv2d_int.dot dot=mmla @pack w: G O/16!4 HWI/8! o16 hwi8 @work padded products 1 */
/* Convolution of int8. Four pixels of a row and four outputs advance together, by SMULL and SADALP.
 * @as neon/conv2d_int.dot dot=madd @when least_weight > -128 @pack w: G O/8!4 HWI/16! o8 hwi16
 * @work padded products 0.95 */
/* Convolution of int8 with weights of -128, product by product.
 * @as neon/conv2d_int.one_product dot=mads @pack w: G O/8!4 HWI/16! o8 hwi16 @work padded products 1 */
#include "edgekit/contracts/conv2d_int.h"
#include "edgekit/loops/window_tiles.h"

/* One to four pixels, one to four blocks of outputs from output `first` on, of those before `end`. */
EK_INLINE void EK_FN_tile(const int8_t *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, int8_t *EK_RESTRICT y, const int32_t first,
    const int32_t end, const int32_t pixels, const int32_t blocks, const struct EK_STRUCT *p)
{
    const int32_t cells = p->k_h * p->k_w * (p->in_c / p->groups),
                  padded = (cells + EK_DOT_CELLS - 1) / EK_DOT_CELLS * EK_DOT_CELLS;
    int32x4_t sum[16], factor[4], exponent[4];
    for (int32_t k = 0; k < blocks; k++)
        for (int32_t i = 0; i < pixels; i++)
            sum[4 * i + k] = vld1q_s32(b + first + 4 * k);
    ek_dot_s8_neon(x, step, row, rows, length, w + first * padded, pixels, blocks, sum);
    for (int32_t k = 0; k < blocks; k++) {
        factor[k] = vld1q_s32(m + first + 4 * k);
        exponent[k] = EK_RULE(load)(e, first + 4 * k);
    }
    for (int32_t i = 0; i < pixels; i++, y += p->out_c) {
        int32x4_t v[4];
        for (int32_t k = 0; k < 4; k++)
            v[k] = k < blocks ? EK_RULE(x4)(sum[4 * i + k], factor[k], exponent[k]) : v[0];
        const int32_t left_over = end - first;
        ek_store_neon(y + first, ek_finish_neon(v[0], v[1], v[2], v[3], p->zero, p->lo, p->hi),
            left_over < 4 * blocks ? left_over : 4 * blocks);
    }
}

struct EK_FN_layer {
    const int8_t *w;
    const int32_t *b;
    const int32_t *m;
    const int8_t *e;
    int8_t *y;
    const struct EK_STRUCT *p;
};

/* All outputs of a group, of one to four pixels. */
EK_INLINE void EK_FN_pixels(const void *layer, const void *windows, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const int32_t at, const int32_t group, const int32_t pixels)
{
    const struct EK_FN_layer *const l = (const struct EK_FN_layer *)layer;
    const struct EK_STRUCT *const p = l->p;
    const int8_t *const x = (const int8_t *)windows;
    const int32_t outputs = p->out_c / p->groups, end = (group + 1) * outputs;
    int32_t o = group * outputs;
    for (; o + 4 * EK_DOT_BLOCKS < end + 4; o += 4 * EK_DOT_BLOCKS)
        EK_FN_tile(
            x, step, row, rows, length, l->w, l->b, l->m, l->e, l->y + at, o, end, pixels, EK_DOT_BLOCKS, p);
    const int32_t rest = end - o;
    if (EK_DOT_BLOCKS > 2 && rest > 8)
        EK_FN_tile(x, step, row, rows, length, l->w, l->b, l->m, l->e, l->y + at, o, end, pixels, 3, p);
    else if (EK_DOT_BLOCKS > 2 && rest > 4)
        EK_FN_tile(x, step, row, rows, length, l->w, l->b, l->m, l->e, l->y + at, o, end, pixels, 2, p);
    else if (rest > 0)
        EK_FN_tile(x, step, row, rows, length, l->w, l->b, l->m, l->e, l->y + at, o, end, pixels, 1, p);
}

EK_INLINE void EK_FN_copy(void *to, const void *from, const int32_t count)
{
    ek_copy_neon((int8_t *)to, (const int8_t *)from, count);
}

EK_INLINE void EK_FN_fill(void *to, const int32_t value, const int32_t count)
{
    ek_fill_neon((int8_t *)to, value, count);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const struct EK_FN_layer layer = {w, b, m, e, y, p};
    const int32_t room = (p->k_h * p->k_w * (p->in_c / p->groups) + 15) / 16 * 16;
    const struct ek_tiled_windows s = {p->batch, p->in_h, p->in_w, p->in_c, p->step_h, p->step_w, p->step_c,
        p->out_h, p->out_w, p->out_c, p->k_h, p->k_w, p->stride_h, p->stride_w, p->pad_top, p->pad_left,
        p->dilation_h, p->dilation_w, p->groups, 1, 4, room, EK_DOT_CELLS, p->in_zero, EK_FN_copy,
        EK_FN_fill};
    ek_each_tile(x, scratch, &s, EK_FN_pixels, &layer);
}
