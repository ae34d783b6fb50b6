/* Depthwise convolution of int16 by rule E with DSP instructions: see window_cells.h and elementwise_dsp.h. Four
 * channels of a pixel advance together; int16 has no zero point, so that cells outside of x count for nothing.
 * @for X=s16 W=s8 S=s32 @rule e @when in_c == out_c and least_exponent > 32 @pack w: O/4! HWI o4 : s16
 * @order pixels 4
 * @loads w: batch * taps_h * taps_w / (k_h * k_w)
 * @work clamped outputs, odd outputs, output window lines, outputs, positions, products beside 16-vectors
 * @work tap cells beside 4-vectors, whole line blocks */
#include "edgekit/contracts/depthwise2d_int.h"

/* Adds up four channels from `from` on. */
static EK_SHARED void EK_FN_four(
    const struct ek_cells *cells, const EK_X *from, const int16_t *w, int32_t row, int32_t *sums)
{
    int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
    for (int32_t i = cells->rows; i > 0; i--, from += cells->down, w += row) {
        const EK_X *cell = from;
        const int16_t *weights = w;
        for (int32_t j = cells->columns; j > 0; j--, cell += cells->right, weights += 4) {
            uint32_t u[2], v[2];
            __builtin_memcpy(u, cell, 8);
            __builtin_memcpy(v, weights, 8);
            s0 = ek_product_bb(u[0], v[0], s0);
            s1 = ek_product_tt(u[0], v[0], s1);
            s2 = ek_product_bb(u[1], v[1], s2);
            s3 = ek_product_tt(u[1], v[1], s3);
        }
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

/* The same of one channel. */
static EK_SHARED int32_t EK_FN_one(
    const struct ek_cells *cells, const EK_X *from, const int16_t *w, int32_t row, int32_t sum)
{
    for (int32_t i = 0; i < cells->rows; i++)
        for (int32_t j = 0; j < cells->columns; j++)
            sum += from[i * cells->down + j * cells->right] * w[i * row + 4 * j];
    return sum;
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c, line = p->in_w * depth, row = 4 * p->k_w;
    const int32_t shift = e[0] - 32, offset = p->zero * (1 << shift) + (1 << (shift - 1));
    struct ek_cells cells;
    cells.down = p->dilation_h * line;
    cells.right = p->dilation_w * depth;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * line)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t j = 0; j < p->out_w; j++) {
                const int32_t above = h * p->stride_h - p->pad_top, beside = j * p->stride_w - p->pad_left;
                int32_t top = above, left = beside;
                cells.rows = ek_inside(&top, p->dilation_h, p->k_h, p->in_h);
                cells.columns = ek_inside(&left, p->dilation_w, p->k_w, p->in_w);
                const int32_t skipped =
                    (top - above) / p->dilation_h * row + (left - beside) / p->dilation_w * 4;
                const int16_t *weights = (const int16_t *)(const void *)w + skipped;
                const EK_X *from = x + top * line + left * depth;
                for (int32_t c = 0; c < depth; c += 4, from += 4, weights += p->k_h * row) {
                    const int32_t count = depth - c < 4 ? depth - c : 4;
                    int32_t sums[4];
                    for (int32_t k = 0; k < count; k++)
                        sums[k] = b[c + k];
                    if (count == 4)
                        EK_FN_four(&cells, from, weights, row, sums);
                    else
                        for (int32_t k = 0; k < count; k++)
                            sums[k] = EK_FN_one(&cells, from + k, weights + k, row, sums[k]);
                    for (int32_t k = 0; k < count; k++) {
                        const int32_t v = ek_high_product_and(sums[k], m[c + k], offset) >> shift;
                        *y++ = EK_STORE_Y(ek_clamp_s32(v, p->lo, p->hi));
                    }
                }
            }
}
