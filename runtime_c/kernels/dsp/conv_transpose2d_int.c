/* Transposed convolution of int8 with DSP instructions: see gemm_dsp.h. Results whose places leave the same rest by
 * the strides, a phase, add up the same taps: each phase is a convolution. Cells are gathered as 16 bits without
 * their zero point, so that those outside of x are 0.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule tfl=tfl_s16_s8 e=e_s16_s8 e_wide=e_s16_s8
 * @when weight_limit >= 2 * out_c * k_h * k_w * (in_c // groups) and acc_bits + weight_shift <= 29
 * @when weight_shift <= 7 and dilation_h == 1 and dilation_w == 1 and k_h >= stride_h and k_w >= stride_w
 * @pack w: phases {stride_h}x{stride_w} G O/8! HW I/4! o8 i4(0213) : s16 x{2 << weight_shift}
 * @pack b: G O/8! o8 : s32 x{2 << weight_shift} @pack e: O : s8 x-1 +-{1 + weight_shift}
 * @scratch 8 * ((k_h - 1) // stride_h + 1) * ((k_w - 1) // stride_w + 1) * ((in_c // groups + 3) // 4)
 * @work calls, outputs, padded outputs, padded products, parted window lines, parted windows
 * @work tap 4-vectors, tap cells beside 4-vectors */
#include "edgekit/contracts/conv_transpose2d_int.h"

/* Of a phase: its first taps, and the place in y of the first of its results. */
struct EK_FN_phase {
    int32_t i;
    int32_t j;
    int32_t top;
    int32_t left;
    const int8_t *end; /* of x */
};

/* The channels of a cell, and of some behind the last, whose weights are 0; returns what is behind them. */
EK_INLINE uint32_t *EK_FN_spread(
    uint32_t *to, const int8_t *cell, const int32_t depth, const int8_t *end, const uint32_t zeros)
{
    for (int32_t left_over = depth; left_over > 0; left_over -= 4, cell += 4, to += 2) {
        int8_t last[4] = {0, 0, 0, 0};
        if (end - cell < 4)
            for (int32_t c = 0; c < left_over; c++)
                last[c] = cell[c];
        const struct ek_four four = ek_four_bytes(end - cell < 4 ? last : cell, zeros);
        to[0] = four.even;
        to[1] = four.odd;
    }
    return to;
}

/* The taps of a result that cell `row`, `column` reaches by the first of them, maybe from outside. */
static EK_SHARED void EK_FN_gather(const int8_t *x, uint32_t *to, const int32_t row, const int32_t column,
    const struct EK_FN_phase *phase, const struct EK_STRUCT *p)
{
    const uint32_t zeros = (uint32_t)(-p->in_zero & 0xFFFF) * 0x10001u;
    const int32_t depth = p->in_c / p->groups;
    int32_t r = row;
    for (int32_t i = phase->i; i < p->k_h; i += p->stride_h, r--) {
        int32_t c = column;
        for (int32_t j = phase->j; j < p->k_w; j += p->stride_w, c--)
            if (r >= 0 && r < p->in_h && c >= 0 && c < p->in_w)
                to = EK_FN_spread(to, x + (r * p->in_w + c) * p->in_c, depth, phase->end, zeros);
            else
                for (int32_t left_over = depth; left_over > 0; left_over -= 4, to += 2)
                    to[0] = 0, to[1] = 0;
    }
}

/* The results of a phase in the outputs of a group. */
static EK_SHARED void EK_FN_results(const int8_t *x, uint32_t *scratch, int8_t *y,
    const struct EK_FN_phase *phase, const struct ek_dots *layer, const struct EK_STRUCT *p)
{
    int32_t row = (phase->top + p->pad_top - phase->i) / p->stride_h;
    for (int32_t h = phase->top; h < p->out_h; h += p->stride_h, row++) {
        int32_t column = (phase->left + p->pad_left - phase->j) / p->stride_w;
        for (int32_t v = phase->left; v < p->out_w; v += p->stride_w, column++) {
            EK_FN_gather(x, scratch, row, column, phase, p);
            EK_RULE(dots)(scratch, y + (h * p->out_w + v) * p->out_c, layer);
        }
    }
}

/* The first place from 0 on that leaves the same rest as `rest`. */
EK_INLINE int32_t EK_FN_first(const int32_t rest, const int32_t stride)
{
    return rest >= 0 ? rest % stride : stride - 1 - (-1 - rest) % stride;
}

static EK_SHARED void EK_FN_run(const int8_t *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, uint32_t *scratch, const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups, size = p->out_h * p->out_w;
    struct ek_dots layer;
    layer.outputs = outputs;
    EK_RULE(constants)(e, p->zero, &layer.offset, &layer.shift);
    int8_t *const first = y;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c, y += size * p->out_c) {
        const int8_t *weights = (const int8_t *)w, *const end = x + p->in_h * p->in_w * p->in_c;
        for (int32_t i = 0; i < p->stride_h; i++)
            for (int32_t j = 0; j < p->stride_w; j++) {
                const int32_t high = (p->k_h - i + p->stride_h - 1) / p->stride_h;
                const int32_t wide = (p->k_w - j + p->stride_w - 1) / p->stride_w;
                const struct EK_FN_phase phase = {i, j, EK_FN_first(i - p->pad_top, p->stride_h),
                    EK_FN_first(j - p->pad_left, p->stride_w), end};
                layer.b = b;
                layer.m = m;
                layer.e = e;
                layer.depth = high * wide * ((depth + 3) / 4) * 8;
                for (int32_t g = 0; g < p->groups; g++) {
                    layer.w = weights;
                    EK_FN_results(x + g * depth, scratch, y + g * outputs, &phase, &layer, p);
                    weights += (outputs + 7) / 8 * 8 * layer.depth;
                    layer.b += (outputs + 7) / 8 * 8;
                    layer.m += outputs;
                    layer.e += outputs;
                }
            }
    }
    ek_clamp_bytes(first, (int32_t)(y - first), p->lo, p->hi);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, (uint32_t *)(void *)scratch, p);
}
