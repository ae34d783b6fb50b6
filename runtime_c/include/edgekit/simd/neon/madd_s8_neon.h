/* Sums of products of int8 with plain NEON: two products of 16 bits are added before they are widened, which fits if
 * weights are at least -127. Weights are packed as O/8!4 HWI/16! o8 hwi16: sixteen cells of eight outputs, or four, lie
 * side by side. */
#ifndef EDGEKIT_MADD_S8_NEON_H
#define EDGEKIT_MADD_S8_NEON_H

#include "edgekit/simd/neon/fixed_neon.h"
#include "edgekit/types.h"

/* Cells that are multiplied at once: pieces of windows are whole multiples, or gathered. And blocks of a tile. */
#define EK_MADD_CELLS 16
#define EK_MADD_BLOCKS 2
#define EK_MADS_CELLS 16
#define EK_MADS_BLOCKS 2

/* One to sixteen cells, zeros behind them. */
static inline int8x16_t ek_madd_load(const int8_t *x, int32_t n)
{
    if (n >= 16)
        return vld1q_s8(x);
    int8_t some[16] = {0};
    ek_copy_neon(some, x, n);
    return vld1q_s8(some);
}

/* `products` are added in 16 bits: two or one. */
EK_INLINE int32x4_t ek_madd_sixteen(
    const int32x4_t sum, const int8x16_t x, const int8x16_t w, const int32_t products)
{
    const int16x8_t low = vmull_s8(vget_low_s8(x), vget_low_s8(w));
    if (products == 2)
        return vpadalq_s16(sum, vmlal_high_s8(low, x, w));
    return vpadalq_s16(vpadalq_s16(sum, low), vmull_high_s8(x, w));
}

/* What sixteen cells add to one output of each pixel. */
#define EK_MADD_OUTPUT(o)                                                                                    \
    {                                                                                                        \
        const int8x16_t v = vld1q_s8(w + 16 * o);                                                            \
        a##o = ek_madd_sixteen(a##o, x0, v, products);                                                       \
        if (pixels > 1)                                                                                      \
            b##o = ek_madd_sixteen(b##o, x1, v, products);                                                   \
        if (pixels > 2)                                                                                      \
            c##o = ek_madd_sixteen(c##o, x2, v, products);                                                   \
        if (pixels > 3)                                                                                      \
            d##o = ek_madd_sixteen(d##o, x3, v, products);                                                   \
    }

static inline int32x4_t ek_madd_across(int32x4_t sum, int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d)
{
    return vaddq_s32(sum, vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d)));
}

/* Four outputs of up to four pixels; `next` from weights of some cells to the next. */
EK_INLINE void ek_madd_block_neon(const int8_t *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const int8_t *EK_RESTRICT w, const int32_t next,
    const int32_t pixels, const int32_t products, int32x4_t *EK_RESTRICT sum)
{
    const int32x4_t zero = vdupq_n_s32(0);
    int32x4_t a0 = zero, a1 = zero, a2 = zero, a3 = zero, b0 = zero, b1 = zero, b2 = zero, b3 = zero;
    int32x4_t c0 = zero, c1 = zero, c2 = zero, c3 = zero, d0 = zero, d1 = zero, d2 = zero, d3 = zero;
    for (int32_t i = 0; i < rows; i++, x += row)
        for (int32_t at = 0; at < length; at += 16, w += next) {
            const int32_t n = length - at;
            const int8x16_t x0 = ek_madd_load(x + at, n);
            const int8x16_t x1 = pixels > 1 ? ek_madd_load(x + at + step, n) : x0;
            const int8x16_t x2 = pixels > 2 ? ek_madd_load(x + at + 2 * step, n) : x0;
            const int8x16_t x3 = pixels > 3 ? ek_madd_load(x + at + 3 * step, n) : x0;
            EK_MADD_OUTPUT(0)
            EK_MADD_OUTPUT(1)
            EK_MADD_OUTPUT(2)
            EK_MADD_OUTPUT(3)
        }
    sum[0] = ek_madd_across(sum[0], a0, a1, a2, a3);
    if (pixels > 1)
        sum[4] = ek_madd_across(sum[4], b0, b1, b2, b3);
    if (pixels > 2)
        sum[8] = ek_madd_across(sum[8], c0, c1, c2, c3);
    if (pixels > 3)
        sum[12] = ek_madd_across(sum[12], d0, d1, d2, d3);
}

/* What sixteen cells of one pixel add to eight outputs. */
#define EK_MADD_ROW(x)                                                                                       \
    a0 = ek_madd_sixteen(a0, x, vld1q_s8(w), products);                                                      \
    a1 = ek_madd_sixteen(a1, x, vld1q_s8(w + 16), products);                                                 \
    a2 = ek_madd_sixteen(a2, x, vld1q_s8(w + 32), products);                                                 \
    a3 = ek_madd_sixteen(a3, x, vld1q_s8(w + 48), products);                                                 \
    b0 = ek_madd_sixteen(b0, x, vld1q_s8(w + 64), products);                                                 \
    b1 = ek_madd_sixteen(b1, x, vld1q_s8(w + 80), products);                                                 \
    b2 = ek_madd_sixteen(b2, x, vld1q_s8(w + 96), products);                                                 \
    b3 = ek_madd_sixteen(b3, x, vld1q_s8(w + 112), products);                                                \
    w += 128;

/* Eight outputs of one pixel. */
EK_INLINE void ek_madd_row_neon(const int8_t *EK_RESTRICT x, const int32_t row, const int32_t rows,
    const int32_t length, const int8_t *EK_RESTRICT w, const int32_t products, int32x4_t *EK_RESTRICT sum)
{
    const int32x4_t zero = vdupq_n_s32(0);
    int32x4_t a0 = zero, a1 = zero, a2 = zero, a3 = zero, b0 = zero, b1 = zero, b2 = zero, b3 = zero;
    for (int32_t i = 0; i < rows; i++, x += row) {
        int32_t at = 0;
        for (; length > 64 && at + 32 <= length; at += 32) { /* shorter rows: not worth the code */
            int8x16_t near = vld1q_s8(x + at), far = vld1q_s8(x + at + 16);
            EK_MADD_ROW(near)
            /* Only then the others, or registers do not suffice. */
            __asm__("" : "+w"(far) : "w"(a0), "w"(a1), "w"(a2), "w"(a3), "w"(b0), "w"(b1), "w"(b2), "w"(b3));
            EK_MADD_ROW(far)
        }
        EK_ROLLED_FOR(; at < length; at += 16) {
            const int8x16_t cells = ek_madd_load(x + at, length - at);
            EK_MADD_ROW(cells)
        }
    }
    sum[0] = ek_madd_across(sum[0], a0, a1, a2, a3);
    sum[1] = ek_madd_across(sum[1], b0, b1, b2, b3);
}

/* Up to four pixels and two blocks. */
EK_INLINE void ek_madd_products_neon(const int8_t *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const int8_t *EK_RESTRICT w, const int32_t pixels,
    const int32_t blocks, const int32_t products, int32x4_t *EK_RESTRICT sum)
{
    const int32_t pair = rows * ((length + 15) / 16) * 128;
    for (int32_t k = 0; k < blocks; k += 2, w += pair, sum += 2) {
        const int32_t next = blocks - k > 1 ? 128 : 64;
        if (pixels == 1 && blocks - k > 1)
            ek_madd_row_neon(x, row, rows, length, w, products, sum);
        else {
            ek_madd_block_neon(x, step, row, rows, length, w, next, pixels, products, sum);
            if (blocks - k > 1)
                ek_madd_block_neon(x, step, row, rows, length, w + 64, next, pixels, products, sum + 1);
        }
    }
}

/* As ek_dot_s8_neon; only a single piece may be no multiple of sixteen. For weights above -128, and for any. */
EK_INLINE void ek_madd_s8_neon(const int8_t *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const int8_t *EK_RESTRICT w, const int32_t pixels,
    const int32_t blocks, int32x4_t *EK_RESTRICT sum)
{
    ek_madd_products_neon(x, step, row, rows, length, w, pixels, blocks, 2, sum);
}
EK_INLINE void ek_mads_s8_neon(const int8_t *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const int8_t *EK_RESTRICT w, const int32_t pixels,
    const int32_t blocks, int32x4_t *EK_RESTRICT sum)
{
    ek_madd_products_neon(x, step, row, rows, length, w, pixels, blocks, 1, sum);
}

#endif
