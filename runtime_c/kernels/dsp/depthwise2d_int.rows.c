/* Some rows of a depthwise convolution of int8 with 3 by 3 taps and DSP instructions: each row of results from three rows of x
 * where they are, see depthwise_rows_dsp.h. Of those in the border, and their weights, a bias of its own holds the products.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule tfl tfl_up e e_wide=e
 * @when is_block and in_c == out_c and k_h == 3 and k_w == 3 and dilation_h == 1 and dilation_w == 1
 * @when stride_h == stride_w and stride_h <= 2 and acc_bits + weight_shift <= 30 and weight_shift <= 7
 * @when in_h >= 2 and pad_top <= 1 and (out_h - 1) * stride_h + 2 - pad_top <= in_h
 * @when pad_left <= 1 and (out_w - 1) * stride_w + 2 - pad_left <= in_w and out_w >= 2 and in_w * in_c % 2 == 0
 * @pack w: O HWI : s16 x{2 << weight_shift} @pack b: O : s32 x{2 << weight_shift}
 * @pack e: O : s8 x-1 +-{1 + weight_shift}
 * @apart @loads w: batch * out_h
 * @count rows: batch * in_c * out_h
 * @count steps: rows * ((19 * out_w + 57 if stride_h == 1 else 26 * out_w + 40) + 2 * out_w * (rule == "tfl"))
 * @work calls 60, clamped outputs 9.46, steps 1 */
#include "edgekit/contracts/depthwise2d_int.h"

/* All channels of a row, or as many as are left of it. */
static inline void EK_FN_row(struct ek_depthwise_row *row)
{
    if (row->stride > 1)
        EK_RULE(depthwise_row_2)(row);
    else
        EK_RULE(depthwise_row_1)(row);
}

/* A row of whose windows only two rows are inside: channel by channel, from weights and a bias of their own. The second
 * row of three has no weights, as it lies between the two. */
static EK_SHARED void EK_FN_border(struct ek_depthwise_row *row, int32_t is_top, int32_t in_zero)
{
    const int16_t *taps = row->w, *outside = taps + (is_top ? 0 : 6);
    const int32_t *b = row->b;
    int16_t w[10] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    taps += is_top ? 3 : 0;
    row->row /= 2;
    for (int32_t c = row->channels; c > 0; c--, taps += 9, outside += 9) {
        const int32_t bias = *b++ + in_zero * (outside[0] + outside[1] + outside[2]);
        for (int32_t i = 0; i < 3; i++) {
            w[i] = taps[i];
            w[6 + i] = taps[3 + i];
        }
        row->w = w;
        row->b = &bias;
        row->channels = 1;
        EK_FN_row(row);
    }
}

static EK_SHARED void EK_FN_run(const int8_t *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, const struct EK_STRUCT *p)
{
    const int32_t stride = p->stride_h, depth = p->in_c, line = p->in_w * depth;
    const int32_t right = (p->out_w - 1) * stride + 3 - p->pad_left - p->in_w;
    int8_t *const begin = y;
    const int32_t inside = p->out_w - (right > 0), iterations = stride > 1 ? inside : (inside + 2) / 3;
    struct ek_depthwise_row row;
    row.step = depth;
    row.iterations = iterations - 1;
    row.border = (uint32_t)(p->in_zero & 0xFFFF) * 0x10001u;
    row.has_right = right > 0;
    row.has_left = p->pad_left;
    row.more = inside % 3;
    row.stride = stride;
    EK_RULE(row_constants)(e, p->zero, &row.offset, &row.shift);
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * line)
        for (int32_t h = 0; h < p->out_h; h++, y += p->out_w * depth) {
            const int32_t top = h * stride - p->pad_top;
            row.x = x + (top < 0 ? 0 : top) * line;
            row.y = y;
            row.w = (const int16_t *)(const void *)w;
            row.b = b;
            row.m = m;
            row.e = e;
            row.channels = depth;
            row.row = line;
            if (top < 0 || top + 3 > p->in_h)
                EK_FN_border(&row, top < 0, p->in_zero);
            else
                EK_FN_row(&row);
        }
    ek_clamp_bytes(begin, (int32_t)(y - begin), p->lo, p->hi);
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, p);
}
