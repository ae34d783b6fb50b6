/* Depthwise convolution of int16 by rule E with Helium: see window_cells.h. Eight channels of a pixel advance
 * together, even ones and odd ones; int16 has no zero point, so that cells outside of x count for nothing.
 * @for X=s16 W=s8 S=s32 @rule e @when in_c == out_c and least_exponent > 32 @pack w: O/8! HWI o8
 * @pack b: O/8! o8(02461357) @pack m: O/8! o8(02461357) @order pixels 8
 * @loads w: batch * taps_h * taps_w / (k_h * k_w)
 * @work output window lines, padded outputs, padded products, positions, products by 16-vectors
 * @work tap cells beside 16-vectors, weights, whole line blocks */
#include "edgekit/contracts/depthwise2d_int.h"

/* Eight channels from `from` on; w, b and m are theirs. */
EK_INLINE void EK_FN_eight(const struct ek_cells *cells, const EK_X *from, const EK_W *w, int32_t row,
    const int32_t *b, const int32_t *m, int32x4_t shift, EK_Y *y, mve_pred16_t lanes,
    const struct EK_STRUCT *p)
{
    int32x4_t even = vldrwq_s32(b), odd = vldrwq_s32(b + 4);
    for (int32_t i = cells->rows; i > 0; i--, from += cells->down, w += row) {
        const EK_X *cell = from;
        const EK_W *weights = w;
        for (int32_t j = cells->columns; j > 0; j--, cell += cells->right, weights += 8) {
            const int16x8_t u = vldrhq_z_s16(cell, lanes), v = vldrbq_s16(weights);
            even = vaddq_s32(even, vmullbq_int_s16(u, v));
            odd = vaddq_s32(odd, vmulltq_int_s16(u, v));
        }
    }
    even = EK_RULE(x4)(even, vldrwq_s32(m), shift);
    odd = EK_RULE(x4)(odd, vldrwq_s32(m + 4), shift);
    int16x8_t both = vqmovntq_s32(vqmovnbq_s32(vdupq_n_s16(0), even), odd);
    both = vqaddq_n_s16(both, (int16_t)p->zero);
    both = vminq_s16(vmaxq_s16(both, vdupq_n_s16((int16_t)p->lo)), vdupq_n_s16((int16_t)p->hi));
    if (sizeof(EK_Y) == 2)
        vstrhq_p_s16((int16_t *)(void *)y, both, lanes);
    else
        vstrbq_p_s16((int8_t *)(void *)y, both, lanes);
}

static EK_SHARED void EK_FN_run(const EK_X *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c, line = p->in_w * depth, block = p->k_h * p->k_w * 8;
    const int32x4_t shift = EK_RULE(exponents)(e, 0);
    struct ek_cells cells;
    cells.down = p->dilation_h * line;
    cells.right = p->dilation_w * depth;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * line)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++, y += depth) {
                const int32_t above = h * p->stride_h - p->pad_top, beside = v * p->stride_w - p->pad_left;
                int32_t top = above, left = beside;
                cells.rows = ek_inside(&top, p->dilation_h, p->k_h, p->in_h);
                cells.columns = ek_inside(&left, p->dilation_w, p->k_w, p->in_w);
                const int32_t skipped =
                    (top - above) / p->dilation_h * p->k_w + (left - beside) / p->dilation_w;
                const EK_X *from = x + top * line + left * depth;
                for (int32_t c = 0; c < depth; c += 8)
                    EK_FN_eight(&cells, from + c, w + c / 8 * block + skipped * 8, p->k_w * 8, b + c, m + c,
                        shift, y + c, vctp16q((uint32_t)(depth - c)), p);
            }
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, p);
}
