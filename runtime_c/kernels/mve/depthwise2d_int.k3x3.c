/* Depthwise convolution of int8 of 3x3 taps with Helium: channel by channel, see depthwise_k3x3_mve.h. All rows
 * of small images are computed at a time, of others about 64 columns.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e tfl tfl_up
 * @when in_c == out_c and k_h == 3 and k_w == 3 and dilation_h == 1 and dilation_w == 1 and stride_h == 1
 * @when stride_w == 1 and pad_left == 1 and out_w == in_w and lo == -128
 * @when (2 * max(in_w, 64) * in_c < 65536 or (out_h + 1) * (in_w + 1) * max(in_c, 100) <= 65536)
 * @when (most_exponent <= 0 or least_exponent > 32) @pack w: O W H/4! I h4
 * @scratch ((out_h + 1) // 2 if (out_h + 1) * (in_w + 1) * max(in_c, 100) <= 65536 else max(1, 64 // (in_w + 1)))
 * @scratch * (8 * in_w + 24) + 64
 * @order planes {out_h if (out_h + 1) * (in_w + 1) * max(in_c, 100) <= 65536 else 2 * max(1, 64 // (in_w + 1))}
 * @count band: out_h if (out_h + 1) * (in_w + 1) * max(in_c, 100) <= 65536
 * @count band: else 2 * max(1, 64 // (in_w + 1))
 * @loads w: batch * -(-out_h // band)
 * @work lines, odd outputs, positions, products by 16 outputs, products of row ends, tap 4-vectors
 * @work weights */
#include "edgekit/contracts/depthwise2d_int.h"

/* Four rows of x for each pair of rows of y, from row `top` on; NULL where x has none. */
static inline void EK_FN_rows(
    const int8_t **rows, const int8_t *x, int32_t top, int32_t pairs, const struct EK_STRUCT *p)
{
    for (; pairs > 0; pairs--, top += 2)
        for (int32_t i = top; i < top + 4; i++)
            *rows++ = i >= 0 && i < p->in_h ? x + i * p->in_w * p->in_c : 0;
}

/* Where the results of a band of so many rows go. The even columns of four come first. */
static inline void EK_FN_places(uint16_t *places, int32_t blocks, int32_t rows, const struct EK_STRUCT *p)
{
    int32_t row = 0, column = 0;
    for (int32_t i = 0; i < 4 * blocks; i++) {
        uint16_t *const to = places + i / 4 * 8 + (i & 1) * 2 + (i >> 1 & 1);
        const int32_t at = (row * p->out_w + column) * p->out_c;
        const int is_inside = column < p->out_w;
        to[0] = is_inside && row < rows ? (uint16_t)at : 0xFFFF;
        to[4] = is_inside && row + 1 < rows ? (uint16_t)(at + p->out_w * p->out_c) : 0xFFFF;
        if (++column > p->out_w) {
            column = 0;
            row += 2;
        }
    }
}

static EK_SHARED void EK_FN_run(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, uint8_t *scratch, const struct EK_STRUCT *p)
{
    const int32_t line = p->in_w * p->in_c, pitch = p->in_w + 1, rows = p->out_h + 1;
    const int32_t depth = p->in_c > 100 ? p->in_c : 100, some = 64 / pitch > 1 ? 64 / pitch : 1;
    const int32_t most = rows * pitch * depth <= 65536 ? rows / 2 : some;
    const int32_t padding = 0x01010101 * (p->in_zero & 0xFF);
    const int8_t **const cells = (const int8_t **)(void *)scratch;
    int8_t *const columns = (int8_t *)(cells + 4 * most);
    uint16_t *const offsets = (uint16_t *)(void *)(columns + 4 * (most * pitch + 9)), *const places =
                                                                                          offsets + 8;
    int32_t known = 0;
    struct ek_band band = {.columns = columns,
        .rows = cells,
        .places = places,
        .offsets = offsets,
        .width = p->in_w,
        .step = 8 * p->in_c,
        .padding = padding,
        .zero = p->zero,
        .hi = p->hi};
    *(int32_t *)(void *)columns = padding;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * line)
        for (int32_t h = 0; h < p->out_h; h += 2 * most) {
            const int32_t left = p->out_h - h, count = left < 2 * most ? left : 2 * most;
            band.pairs = (count + 1) / 2;
            band.blocks = (band.pairs * pitch + 2) / 4;
            if (count != known)
                EK_FN_places(places, band.blocks, count, p);
            known = count;
            EK_FN_rows(cells, x, h - p->pad_top, band.pairs, p);
            for (int32_t k = 0; k < 8; k++)
                offsets[k] = (uint16_t)(k * p->in_c);
            band.w = w;
            band.b = b;
            band.m = m;
            band.e = e;
            band.y = y;
            band.channels = p->in_c;
            EK_RULE(band)(&band);
            y += count * line;
        }
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, scratch, p);
}
