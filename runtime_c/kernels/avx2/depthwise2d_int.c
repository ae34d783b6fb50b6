/* Depthwise convolution of int8. Rows are copied with their borders, for some rows of results at a time; with
 * strides, columns of each remainder lie together. So neighbours in a row of results have neighbours in x, and groups
 * of channels go over the ends of pixels where they are multiples of these.
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule e e_wide tfl once line line_away
 * @when in_c == out_c and acc_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * @pack w: O/16~ HWI/2! o16(2x2x4) hwi2 : s16
 * @pack b: O/16~ o16(2x2x4)
 * @pack m: O/16~ o16(2x2x4)
 * @pack e: O/16~ o16(2x2x4)
 * @scratch ((min(out_h, 8) - 1) * stride_h + (k_h - 1) * dilation_h + 1) * stride_w
 * @scratch * ((out_w * stride_w + (k_w - 1) * dilation_w) // stride_w + 1) * in_c * 2 + 128
 * @order bands 8 */
/* Depthwise convolution of int8, 64 channels at a time.
 * @as avx512/depthwise2d_int x8=x16
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule e e_wide tfl once line line_away
 * @when in_c == out_c and acc_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * @pack w: O/64~ H/4! W I o64(4x4x4) h4
 * @pack b: O/64~ o64(4x4x4)
 * @pack m: O/64~ o64(4x4x4)
 * @pack e: O/64~ o64(4x4x4)
 * @fold b: -128 w
 * @scratch ((min(out_h, 8) - 1) * stride_h + (k_h - 1) * dilation_h + 1) * stride_w
 * @scratch * ((out_w * stride_w + (k_w - 1) * dilation_w) // stride_w + 1) * in_c + 128
 * @order bands 8 */
/* Depthwise convolution of int8, 32 channels at a time.
 * @as avxvnni/depthwise2d_int x8=x8v
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule e e_wide tfl once line line_away
 * @when in_c == out_c and acc_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * @pack w: O/32~ H/4! W I o32(2x4x4) h4
 * @pack b: O/32~ o32(2x4x4)
 * @pack m: O/32~ o32(2x4x4)
 * @pack e: O/32~ o32(2x4x4)
 * @fold b: -128 w
 * @scratch ((min(out_h, 8) - 1) * stride_h + (k_h - 1) * dilation_h + 1) * stride_w
 * @scratch * ((out_w * stride_w + (k_w - 1) * dilation_w) // stride_w + 1) * in_c + 128
 * @order bands 8 */
#include "edgekit/contracts/depthwise2d_int.h"
#include "edgekit/simd/x86/rules_x86.h"

/* One row of the bordered image: `columns` cells for each remainder of the stride. */
EK_INLINE void EK_FN_row(
    const EK_X *x, uint8_t *y, const int32_t row, const int32_t columns, const struct EK_STRUCT *p)
{
    const int32_t cell = p->in_c * EK_X8_SIZE, is_inside = row >= 0 && row < p->in_h;
    const EK_X *const from = x + (is_inside ? row : 0) * p->in_w * p->in_c;
    if (p->stride_w == 1 && is_inside) {
        const int32_t end = p->pad_left + p->in_w; /* all columns are read, and one more */
        ek_x8_fill(p->in_zero, y, p->pad_left * p->in_c);
        ek_x8_copy(from, y + p->pad_left * cell, p->in_w * p->in_c);
        ek_x8_fill(p->in_zero, y + end * cell, (columns - end) * p->in_c);
        return;
    }
    for (int32_t r = 0; r < p->stride_w; r++)
        for (int32_t v = 0; v < columns; v++, y += cell) {
            const int32_t column = v * p->stride_w + r - p->pad_left;
            if (is_inside && column >= 0 && column < p->in_w)
                ek_x8_copy(from + column * p->in_c, y, p->in_c);
            else
                ek_x8_fill(p->in_zero, y, p->in_c);
        }
}

/* `count` results from channel `first` on. */
EK_INLINE void EK_FN_group(const uint8_t *x, const EK_W *w, const EK_S *b, const int32_t *m, const int8_t *e,
    EK_Y *y, const int32_t first, const int32_t count, const struct ek_x8_taps *taps,
    const struct EK_STRUCT *p)
{
    ek_x8_ints sum[EK_X8_PARTS];
    EK_UNROLLED_FOR(32, int32_t k = 0; k < EK_X8_PARTS; k++)
        sum[k] = ek_x8_load(b + first + k * EK_X8_LANES);
    ek_x8_window(sum, x, (const int8_t *)w + first * ek_x8_tap_bytes(taps), taps);
    EK_UNROLLED_FOR(32, int32_t k = 0; k < EK_X8_PARTS; k++) {
        const struct ek_x8_scales scales = ek_x8_scales(EK_RULE(kind)(), m, e, first + k * EK_X8_LANES);
        sum[k] = ek_x8_requantized(EK_RULE(kind)(), sum[k], &scales);
    }
    ek_x8_store_group(y, sum, p->zero, p->lo, p->hi, count);
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t group = EK_X8_PARTS * EK_X8_LANES, size = p->out_w * p->out_c;
    const int32_t columns = (p->out_w * p->stride_w + (p->k_w - 1) * p->dilation_w) / p->stride_w + 1;
    const int32_t row_step = p->stride_w * columns * p->in_c * EK_X8_SIZE;
    const struct ek_x8_taps taps = {p->k_h, p->k_w, p->dilation_h * row_step, p->stride_w, p->dilation_w,
        columns * p->in_c * EK_X8_SIZE, p->in_c * EK_X8_SIZE};
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t first = 0; first < p->out_h; first += 8) {
            const int32_t lines = p->out_h - first < 8 ? p->out_h - first : 8;
            const int32_t rows = (lines - 1) * p->stride_h + (p->k_h - 1) * p->dilation_h + 1;
            for (int32_t i = 0; i < rows; i++)
                EK_FN_row(x, scratch + i * row_step, first * p->stride_h - p->pad_top + i, columns, p);
            for (int32_t h = 0; h < lines; h++, y += size) {
                const uint8_t *const from = scratch + h * p->stride_h * row_step;
                if (group % p->in_c == 0 && size >= group)
                    for (int32_t i = 0; i < size; i += group) {
                        const int32_t at = i + group <= size ? i : size - group;
                        EK_FN_group(from + at * EK_X8_SIZE, w, b, m, e, y + at, 0, group, &taps, p);
                    }
                else
                    for (int32_t o = 0; o < p->in_c; o += group) {
                        const int32_t count = p->in_c - o < group ? p->in_c - o : group;
                        for (int32_t at = o; at < size; at += p->in_c)
                            EK_FN_group(from + at * EK_X8_SIZE, w, b, m, e, y + at, o, count, &taps, p);
                    }
            }
        }
}
