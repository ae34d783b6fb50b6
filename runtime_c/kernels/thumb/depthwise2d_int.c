/* Depthwise convolution of int8 on Cortex-M3. The cells of each window are found once, see depthwise_cells.h;
 * then four channels advance together.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e tfl tfl_up
 * @when in_c == out_c and acc_bits <= 30 and (most_exponent < 0 or least_exponent > 32)
 * @pack w: O/4! HWI o4 @pack b: O/4! o4 @pack e: O : s8 x-1 +-1 @scratch 4 * k_h * k_w + in_c
 * @order pixels 4
 * @loads w: batch * out_h * out_w * in_c / ((in_c + 3) // 4 * 4)
 * @work odd outputs, outputs, positions, products, products by 64 outputs, products of row ends
 * @work products of row pairs, whole line blocks */
#include "edgekit/contracts/depthwise2d_int.h"

/* Sums of the last channels, where they are less than four. */
static EK_SHARED void EK_FN_some(const int8_t **cells, const int8_t **end, const int8_t *w, int32_t channel,
    const int32_t *b, int32_t *sums, int32_t count)
{
    sums[0] = b[0];
    sums[1] = b[1];
    sums[2] = b[2];
    for (; cells != end; w += 4) {
        const int8_t *cell = *cells++ + channel;
        sums[0] += cell[0] * w[0];
        sums[1] += count > 1 ? cell[1] * w[1] : 0;
        sums[2] += count > 2 ? cell[2] * w[2] : 0;
    }
}

static EK_SHARED void EK_FN_results(const int32_t *sums, int32_t o, int32_t end, const int32_t *m,
    const int8_t *e, int8_t *y, const struct EK_STRUCT *p)
{
    const int32_t zero = p->zero, lo = p->lo, hi = p->hi; /* once: y may point anywhere */
    for (; o < end; o++)
        *y++ = ek_between_s8(zero + EK_RULE(one)(*sums++, m[o], e, o), lo, hi);
}

static EK_SHARED void EK_FN_run(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, uint8_t *scratch, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c, taps = p->k_h * p->k_w;
    const struct ek_taps window = {
        p->in_h, p->in_w, depth, depth, p->k_h, p->k_w, p->dilation_h, p->dilation_w};
    const int8_t **const cells = (const int8_t **)(void *)scratch;
    int8_t *const border = (int8_t *)(cells + taps);
    for (int32_t c = 0; c < depth; c++)
        border[c] = (int8_t)p->in_zero;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * depth)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++) {
                ek_find_cells(
                    cells, border, x, h * p->stride_h - p->pad_top, v * p->stride_w - p->pad_left, &window);
                for (int32_t c = 0; c < depth; c += 16) {
                    const int32_t count = depth - c < 16 ? depth - c : 16, fours = count / 4 * 4;
                    int32_t sums[16];
                    struct ek_sums made = {b + c, c, sums, sums + fours};
                    if (fours > 0)
                        ek_sums_of_channels(cells, cells + taps, w + c * taps, &made);
                    if (fours < count)
                        EK_FN_some(cells, cells + taps, w + (c + fours) * taps, c + fours, b + c + fours,
                            sums + fours, count - fours);
                    EK_FN_results(sums, c, c + count, m, e, y, p);
                    y += count;
                }
            }
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, scratch, p);
}
