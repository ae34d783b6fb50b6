/* Depthwise convolution of int8. Rows are copied with their borders, for some rows of results at a time; with
 * strides, columns of each remainder lie together. So neighbours in a row of results have neighbours in x, and groups
 * of channels go over the ends of pixels where they are multiples of these.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once line line_away
 * @when in_c == out_c and acc_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * @pack w: O/16~ HWI/2! o16(2x2x4) hwi2 : s16 @pack b: O/16~ o16(2x2x4) @pack m: O/16~ o16(2x2x4)
 * @pack e: O/16~ o16(2x2x4)
 * @scratch ((min(out_h, 8) - 1) * stride_h + (k_h - 1) * dilation_h + 1) * stride_w
 * @scratch * ((out_w * stride_w + (k_w - 1) * dilation_w) // stride_w + 1) * in_c * 2 + 128 @order bands 8 */
/* Depthwise convolution of int8, 64 channels at a time.
 * @as avx512/depthwise2d_int x8=x16 @pack w: O/64~ H/4! W I o64(4x4x4) h4 @pack b: O/64~ o64(4x4x4)
 * @pack m: O/64~ o64(4x4x4) @pack e: O/64~ o64(4x4x4) @fold b: -128 w
 * @scratch ((min(out_h, 8) - 1) * stride_h + (k_h - 1) * dilation_h + 1) * stride_w
 * @scratch * ((out_w * stride_w + (k_w - 1) * dilation_w) // stride_w + 1) * in_c + 128 */
/* Depthwise convolution of int8, 32 channels at a time.
 * @as avxvnni/depthwise2d_int x8=x8v like avx512/depthwise2d_int @pack w: O/32~ H/4! W I o32(2x4x4) h4
 * @pack b: O/32~ o32(2x4x4) @pack m: O/32~ o32(2x4x4) @pack e: O/32~ o32(2x4x4) */
#include "edgekit/contracts/depthwise2d_int.h"
#include "edgekit/simd/x86/rules_x86.h"

/* One row of the bordered image: `columns` cells for each remainder of the stride. */
EK_INLINE void EK_FN_row(
    const EK_X *x, uint8_t *y, const int32_t row, const int32_t columns, const struct EK_STRUCT *p)
{
    const int32_t cell = p->in_c * EK_X8_SIZE, stride = p->stride_w;
    if (row < 0 || row >= p->in_h) {
        ek_x8_fill(p->in_zero, y, stride * columns * p->in_c);
        return;
    }
    for (int32_t r = 0; r < stride; r++) {
        const int32_t border = (p->pad_left - r + stride - 1) / stride,
                      first = border * stride + r - p->pad_left;
        const int32_t left = border < columns ? border : columns, room = columns - left;
        const int32_t all = (p->in_w - first + stride - 1) / stride;
        const int32_t width = all < room ? all : room;
        const EK_X *from = x + (row * p->in_w + first) * p->in_c;
        ek_x8_fill(p->in_zero, y, left * p->in_c);
        y += left * cell;
        if (stride == 1)
            ek_x8_copy(from, y, width * p->in_c);
        else
            for (int32_t v = 0; v < width; v++)
                ek_x8_copy(from + v * stride * p->in_c, y + v * cell, p->in_c);
        ek_x8_fill(p->in_zero, y + width * cell, (room - width) * p->in_c);
        y += room * cell;
    }
}

/* Lines of results: `count` of them from channel `first` on, and as many at each `step` behind it. The last of a line
 * may be computed twice. Weights are kept in registers where these have room for them. */
EK_PART void EK_FN_lines(const uint8_t *x, const EK_W *w, const EK_S *b, const int32_t *m, const int8_t *e,
    EK_Y *y, const int32_t lines, const int32_t line_step, const int32_t first, const int32_t count,
    const int32_t step, const struct ek_x8_taps *taps, const struct EK_STRUCT *p)
{
    const int32_t bytes = ek_x8_tap_bytes(taps), vectors = bytes / 4 * EK_X8_PARTS;
    const int32_t size = p->out_w * p->out_c, is_kept = vectors <= EK_X8_KEPT;
    const int8_t *const weights = (const int8_t *)w + first * bytes;
    ek_x8_ints kept[EK_X8_KEPT], bias[EK_X8_PARTS], sum[EK_X8_PARTS];
    struct ek_x8_scales scales[EK_X8_PARTS];
    EK_UNROLLED_FOR(32, int32_t k = 0; k < EK_X8_PARTS; k++) {
        bias[k] = ek_x8_load(b + first + k * EK_X8_LANES);
        scales[k] = ek_x8_scales(EK_RULE(kind), m, e, first + k * EK_X8_LANES);
    }
    EK_UNROLLED_FOR(32, int32_t k = 0; k < EK_X8_KEPT; k++)
        kept[k] = ek_x8_load(weights + (k < vectors ? k : 0) * 4 * EK_X8_LANES);
    for (int32_t h = 0; h < lines; h++, x += line_step, y += size)
        for (int32_t i = first; i < size; i += step) {
            const int32_t at = i + count <= size ? i : size - count;
            EK_UNROLLED_FOR(32, int32_t k = 0; k < EK_X8_PARTS; k++)
                sum[k] = bias[k];
            ek_x8_window(sum, x + at * EK_X8_SIZE, is_kept ? (const int8_t *)kept : weights, taps);
            EK_UNROLLED_FOR(32, int32_t k = 0; k < EK_X8_PARTS; k++)
                sum[k] = ek_x8_requantized(EK_RULE(kind), sum[k], &scales[k]);
            ek_x8_store_group(y + at, sum, p->zero, p->lo, p->hi, count);
        }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t group = EK_X8_PARTS * EK_X8_LANES, size = p->out_w * p->out_c, rest = p->in_c % group;
    const int32_t columns = (p->out_w * p->stride_w + (p->k_w - 1) * p->dilation_w) / p->stride_w + 1;
    const int32_t row_step = p->stride_w * columns * p->in_c * EK_X8_SIZE, line_step = p->stride_h * row_step;
    const struct ek_x8_taps taps = {p->k_h, p->k_w, p->dilation_h * row_step, p->stride_w, p->dilation_w,
        columns * p->in_c * EK_X8_SIZE, p->in_c * EK_X8_SIZE};
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t first = 0; first < p->out_h; first += 8) {
            const int32_t lines = p->out_h - first < 8 ? p->out_h - first : 8;
            const int32_t rows = (lines - 1) * p->stride_h + (p->k_h - 1) * p->dilation_h + 1;
            for (int32_t i = 0; i < rows; i++)
                EK_FN_row(x, scratch + i * row_step, first * p->stride_h - p->pad_top + i, columns, p);
            if (group % p->in_c == 0 && size >= group)
                EK_FN_lines(scratch, w, b, m, e, y, lines, line_step, 0, group, group, &taps, p);
            else {
                for (int32_t o = 0; o + group <= p->in_c; o += group)
                    EK_FN_lines(scratch, w, b, m, e, y, lines, line_step, o, group, p->in_c, &taps, p);
                if (rest > 0)
                    EK_FN_lines(
                        scratch, w, b, m, e, y, lines, line_step, p->in_c - rest, rest, p->in_c, &taps, p);
            }
            y += lines * size;
        }
}
