/* Depthwise convolution of int8 with 3 by 3 taps and DSP instructions. Each channel becomes a plane of its own,
 * padded: see depthwise_chw_dsp.h. Rows of the plane are those of the image or its columns, whichever have fewer
 * pairs of results. Where the result has half as many rows, it takes two planes of half the height, one after the
 * other: results of the first, even if they lie over x, do not reach what the second reads.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule tfl tfl_up e e_wide=e
 * @when in_c == out_c and k_h == 3 and k_w == 3 and dilation_h == 1 and dilation_w == 1
 * @when stride_h == stride_w and stride_h <= 2 and acc_bits + weight_shift <= 30 and weight_shift <= 7
 * @pack w: O HWI : s16 x{2 << weight_shift} @pack b: O : s32 x{2 << weight_shift}
 * @pack e: O : s8 x-1 +-{1 + weight_shift}
 * @scratch 2 * ((2 * ((out_h + 1) // 2) + 1) * (4 * ((out_w + 1) // 2) + 2)
 * @scratch if stride_h == 2 and (out_h + 1) // 2 * out_w <= (2 * ((out_h + 1) // 2) - pad_top) * in_w else
 * @scratch max(((out_h - 1) * stride_h + 3) * (2 * ((out_w + 1) // 2) * stride_h + 2),
 * @scratch ((out_w - 1) * stride_h + 3) * (2 * ((out_h + 1) // 2) * stride_h + 2))) @order channels
 * @count half: (out_h + 1) // 2
 * @count start: 2 * half - pad_top
 * @count cut: stride_h == 2 and half * out_w <= start * in_w
 * @count turned: not cut and out_h * ((out_w + 1) // 2) > out_w * half
 * @count planes: batch * in_c * (1 + (cut and out_h > 1))
 * @count pairs: batch * in_c * (out_w * half if turned else out_h * ((out_w + 1) // 2))
 * @count length: min(in_h, 2 * half * stride_h + 2 - pad_top) if turned
 * @count length: else min(in_w, (out_w + 1) // 2 * 2 * stride_h + 2 - pad_left)
 * @count rows: batch * in_c * (min(in_w, (out_w - 1) * stride_h + 3 - pad_left) if turned
 * @count rows: else min(in_h, start + 1) + (out_h > 1) * min(in_h - start, 2 * (out_h - half) + 1) if cut
 * @count rows: else min(in_h, (out_h - 1) * stride_h + 3 - pad_top))
 * @count fours: rows * (length // 4)
 * @count singles: rows * (length % 4)
 * @count result rows: batch * in_c * (out_w if turned else out_h)
 * @loads w: planes // in_c
 * @work calls 411, clamped outputs 9.46, fours 16.1, pairs 32.4, planes 96.4, result rows 14.1, rows 12.1
 * @work singles 8.03 */
#include "edgekit/contracts/depthwise2d_int.h"

/* One direction of the image. */
struct EK_FN_axis {
    int32_t in;
    int32_t out;
    int32_t pad;
    int32_t x_step; /* from one cell to the next */
    int32_t y_step;
    int32_t tap; /* of the weights from one tap to the next */
};

/* Brings channel x into the plane, whose padding is there already; from the first result on, all that is read. */
static EK_SHARED void EK_FN_spread(const int8_t *x, int16_t *plane, const struct EK_FN_axis *along,
    const struct EK_FN_axis *across, int32_t count, int32_t rows, int32_t width)
{
    const int32_t step = along->x_step;
    for (; rows > 0; rows--, x += across->x_step, plane += width) {
        const int8_t *from = x;
        int16_t *to = plane;
        int32_t left = count;
        for (; left >= 4; left -= 4)
            ek_spread_four(&from, step, &to);
        for (; left > 0; left--, from += step)
            *to++ = *from;
    }
}

static EK_SHARED void EK_FN_image(const int8_t *x, const int16_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, int16_t *plane, const struct EK_FN_axis *along,
    const struct EK_FN_axis *across, const struct EK_STRUCT *p)
{
    const int32_t stride = p->stride_h, pairs = (along->out + 1) / 2;
    const int32_t width = 2 * pairs * stride + 2, height = (across->out - 1) * stride + 3;
    const int32_t room = width - along->pad, rows_room = height - across->pad;
    const int32_t count = along->in < room ? along->in : room;
    const int32_t rows = across->in < rows_room ? across->in : rows_room;
    int16_t *inside = plane + across->pad * width + along->pad;
    struct ek_plane channel;
    const uint32_t border = (uint32_t)(p->in_zero & 0xFFFF) * 0x10001u;
    for (int32_t i = 0; i < width * height; i += 2)
        __builtin_memcpy(plane + i, &border, 4);
    channel.step = along->y_step;
    channel.skip = 2 * stride * (width - 2 * pairs);
    channel.row_step = 2 * stride * width;
    channel.y_skip = across->y_step - 2 * pairs * along->y_step;
    channel.end = plane + along->out * stride;
    channel.rows = across->out;
    channel.row_bytes = 2 * width;
    for (int32_t c = 0; c < p->in_c; c++, w += 9) {
        EK_FN_spread(x + c, inside, along, across, count, rows, width);
        channel.bias[0] = channel.bias[1] = b[c];
        EK_RULE(channel)(m, e, c, p->zero, &channel);
        for (int32_t i = 0; i < 3; i++) {
            const int16_t *tap = w + i * across->tap;
            const uint32_t middle = (uint16_t)tap[along->tap];
            channel.w[2 * i] = (uint16_t)tap[0] | middle << 16;
            channel.w[2 * i + 1] = middle | (uint32_t)tap[2 * along->tap] << 16;
        }
        if (stride == 1)
            EK_RULE(plane_1)(plane, y + c, &channel);
        else
            EK_RULE(plane_2)(plane, y + c, &channel);
    }
}

static EK_SHARED void EK_FN_run(const int8_t *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, int8_t *y, uint8_t *scratch, const struct EK_STRUCT *p)
{
    int8_t *const first = y;
    const struct EK_FN_axis wide = {p->in_w, p->out_w, p->pad_left, p->in_c, p->out_c, 1};
    const struct EK_FN_axis high = {p->in_h, p->out_h, p->pad_top, p->in_w * p->in_c, p->out_w * p->out_c, 3};
    const int32_t half = (p->out_h + 1) / 2, start = 2 * half - p->pad_top;
    const int16_t *taps = (const int16_t *)(const void *)w;
    int16_t *plane = (int16_t *)(void *)scratch;
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * high.x_step, y += p->out_h * high.y_step)
        if (p->stride_h == 2 && half * p->out_w <= start * p->in_w) {
            struct EK_FN_axis piece = high;
            piece.out = half;
            EK_FN_image(x, taps, b, m, e, y, plane, &wide, &piece, p);
            piece.in = p->in_h - start;
            piece.out = p->out_h - half;
            piece.pad = 0;
            if (piece.out > 0)
                EK_FN_image(
                    x + start * high.x_step, taps, b, m, e, y + half * high.y_step, plane, &wide, &piece, p);
        } else if (p->out_h * ((p->out_w + 1) / 2) <= p->out_w * ((p->out_h + 1) / 2))
            EK_FN_image(x, taps, b, m, e, y, plane, &wide, &high, p);
        else
            EK_FN_image(x, taps, b, m, e, y, plane, &high, &wide, p);
    ek_clamp_bytes(first, (int32_t)(y - first), p->lo, p->hi);
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, scratch, p);
}
