/* Depthwise convolution of floats with windows of 3 x 3. Four channels of two rows of pixels advance together, their
 * weights in registers; columns serve the pixels beside them, too.
 * @for T=f32 W=f32 B=f32
 * @when k_h == 3 and k_w == 3 and dilation_h == 1 and dilation_w == 1 and stride_w <= 2 and in_c == out_c
 * @when out_c >= 4 @pack w: H W O I @scratch 4 * in_w * in_c @order lines 4 2
 * @count vectors: batch * ((out_c + 3) // 4)
 * @count zero vectors: in_w * in_c // 4
 * @count lines: vectors * (out_h - out_h // 2 * (stride_h == 1))
 * @count columns: lines * ((out_w - 1) * stride_w + 3)
 * @count result vectors: vectors * out_h * out_w
 * @work columns 5.93, lines 4.25, result vectors 12, zero vectors 1.41 */
/* Depthwise convolution of floats with windows of 3 x 3 and weights of 16 bits, which are widened once.
 * @as neon/depthwise2d.k3x3_bf16 W=bf16 f32_once=bf16_once @scratch 36 * out_c + 12 + 4 * in_w * in_c
 * @work columns 5.93, lines 4.25, result vectors 12, weights 0.602, zero vectors 1.41
 * @as neon/depthwise2d.k3x3_f16 W=f16 f32_once=f16_once @scratch 36 * out_c + 12 + 4 * in_w * in_c
 * @work columns 5.93, lines 4.25, result vectors 12, weights 1.48, zero vectors 1.41 */
#include "edgekit/contracts/depthwise2d.h"

/* Four channels of a column of up to four rows; zeros beside the image. */
EK_INLINE float32x4x4_t EK_FN_column(
    const float *const *row, const int32_t column, const int32_t rows, const struct EK_STRUCT *p)
{
    float32x4x4_t y;
    y.val[0] = y.val[1] = y.val[2] = y.val[3] = vdupq_n_f32(0.0f);
    if (column >= 0 && column < p->in_w) {
        y.val[0] = vld1q_f32(row[0] + column * p->in_c);
        y.val[1] = vld1q_f32(row[1] + column * p->in_c);
        y.val[2] = vld1q_f32(row[2] + column * p->in_c);
        if (rows > 3)
            y.val[3] = vld1q_f32(row[3] + column * p->in_c);
    }
    return y;
}

/* Four channels of a pixel, whose window begins `down` rows below the top of its columns. */
#define EK_PIXEL_THREE(down, a, b, c)                                                                        \
    {                                                                                                        \
        float32x4_t sum = vfmaq_f32(w[9], a.val[down], w[0]);                                                \
        sum = vfmaq_f32(sum, b.val[down], w[1]);                                                             \
        sum = vfmaq_f32(sum, c.val[down], w[2]);                                                             \
        sum = vfmaq_f32(sum, a.val[down + 1], w[3]);                                                         \
        sum = vfmaq_f32(sum, b.val[down + 1], w[4]);                                                         \
        sum = vfmaq_f32(sum, c.val[down + 1], w[5]);                                                         \
        sum = vfmaq_f32(sum, a.val[down + 2], w[6]);                                                         \
        sum = vfmaq_f32(sum, b.val[down + 2], w[7]);                                                         \
        sum = vfmaq_f32(sum, c.val[down + 2], w[8]);                                                         \
        vst1q_f32(y + down * p->out_w * p->out_c, ek_vf_clamp(sum, p->lo, p->hi));                           \
    }

#define EK_COLUMN_THREE(a, b, c)                                                                             \
    {                                                                                                        \
        EK_PIXEL_THREE(0, a, b, c)                                                                           \
        if (rows > 3)                                                                                        \
            EK_PIXEL_THREE(1, a, b, c)                                                                       \
        y += p->out_c;                                                                                       \
    }

/* Four channels of one row of pixels, or of two, which read four rows. */
EK_INLINE void EK_FN_line(const float *const *row, const int32_t rows, const float *EK_RESTRICT weights,
    const float *EK_RESTRICT bias, float *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    float32x4_t w[10];
    for (int32_t i = 0; i < 9; i++)
        w[i] = vld1q_f32(weights + i * p->out_c);
    w[9] = vld1q_f32(bias);
    int32_t left = -p->pad_left, n = p->out_w;
    float32x4x4_t s = EK_FN_column(row, left, rows, p), t, u;
    if (p->stride_w == 1) {
        t = EK_FN_column(row, left + 1, rows, p);
        for (; n >= 3; n -= 3, left += 3) {
            u = EK_FN_column(row, left + 2, rows, p);
            EK_COLUMN_THREE(s, t, u)
            s = EK_FN_column(row, left + 3, rows, p);
            EK_COLUMN_THREE(t, u, s)
            t = EK_FN_column(row, left + 4, rows, p);
            EK_COLUMN_THREE(u, s, t)
        }
        if (n > 0) {
            u = EK_FN_column(row, left + 2, rows, p);
            EK_COLUMN_THREE(s, t, u)
        }
        if (n > 1) {
            s = EK_FN_column(row, left + 3, rows, p);
            EK_COLUMN_THREE(t, u, s)
        }
    } else {
        for (; n >= 2; n -= 2, left += 4) {
            t = EK_FN_column(row, left + 1, rows, p);
            u = EK_FN_column(row, left + 2, rows, p);
            EK_COLUMN_THREE(s, t, u)
            t = EK_FN_column(row, left + 3, rows, p);
            s = EK_FN_column(row, left + 4, rows, p);
            EK_COLUMN_THREE(u, t, s)
        }
        if (n > 0) {
            t = EK_FN_column(row, left + 1, rows, p);
            u = EK_FN_column(row, left + 2, rows, p);
            EK_COLUMN_THREE(s, t, u)
        }
    }
}

/* All channels of one row of pixels, or of two. */
EK_INLINE void EK_FN_lines(const float *EK_RESTRICT x, const float *EK_RESTRICT zeros, const int32_t top,
    const int32_t rows, const float *EK_RESTRICT w, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    for (int32_t o = 0; o < p->out_c; o += 4) {
        o = o + 4 <= p->out_c ? o : p->out_c - 4; /* the last four may be computed twice in part */
        const float *row[4];
        for (int32_t i = 0; i < rows; i++)
            row[i] = top + i < 0 || top + i >= p->in_h ? zeros : x + (top + i) * p->in_w * p->in_c + o;
        EK_FN_line(row, rows, w + o, b + o, y + o, p);
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    float *zeros = (float *)(void *)scratch; /* a row above and below the image */
    const float *weights = ek_f32_once_vf(w, 9 * p->out_c, &zeros);
    const int32_t line = p->out_w * p->out_c;
    ek_zero_floats_vf(zeros, p->in_w * p->in_c);
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c) {
        int32_t h = 0;
        for (; p->stride_h == 1 && h + 2 <= p->out_h; h += 2, y += 2 * line)
            EK_FN_lines(x, zeros, h - p->pad_top, 4, weights, b, y, p);
        for (; h < p->out_h; h++, y += line)
            EK_FN_lines(x, zeros, h * p->stride_h - p->pad_top, 3, weights, b, y, p);
    }
}
