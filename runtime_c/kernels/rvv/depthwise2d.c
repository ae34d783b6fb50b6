/* Depthwise convolution of floats. Up to three pixels of a row advance together, of each as many channels as four vector
 * registers hold; what windows have outside of the image is left out. Pixels at both ends of a row are apart: which of their
 * cells are outside, compilers know.
 * @for T=f32 W=f32 B=f32 @when in_c == out_c @pack w: H W O I @order pixels 16 3
 * @count blocks: batch * ((out_c + 31) // 32)
 * @count tiles: out_h * ((out_w + 2) // 3) * blocks
 * @count weight vectors: taps_h * k_w * ((out_w + 2) // 3) * blocks
 * @count product vectors: taps_h * taps_w * blocks
 * @count result vectors: out_h * out_w * blocks @work product vectors 15.2, tiles 39.1 */
/* Depthwise convolution of floats, for few channels: two vector registers, of up to seven pixels.
 * @as rvv/depthwise2d.oc16 fm4=fm2 @order pixels 8 7
 * @count blocks: batch * ((out_c + 15) // 16)
 * @count tiles: out_h * ((out_w + 6) // 7) * blocks
 * @count weight vectors: taps_h * k_w * ((out_w + 6) // 7) * blocks
 * @work product vectors 5.96, result vectors 12.7, weight vectors 5.29 */
/* Depthwise convolution of floats with weights of 16 bits.
 * @as rvv/depthwise2d.bf16 W=bf16 f32=bf16
 * @as rvv/depthwise2d.f16 W=f16 f32=f16
 * @as riscvf/depthwise2d.bf16 W=bf16 f32=bf16 @order pixels 1 8
 * @as riscvf/depthwise2d.f16 W=f16 f32=f16 @order pixels 1 8 */
/* Depthwise convolution of floats with weights of bytes: scales are in place of what is added.
 * @as rvv/depthwise2d_scaled W=s8 f32=s8
 * @as riscvf/depthwise2d_scaled W=s8 f32=s8 @order pixels 1 8 */
/* Depthwise convolution of floats one at a time, for RISC-V without vectors: up to eight pixels.
 * @as riscvf/depthwise2d @order pixels 1 8 */
#include "edgekit/contracts/depthwise2d.h"
#include "edgekit/loops/taps.h"

#define EK_FN_add(k, s)                                                                                      \
    if (pixels > (k)                                                                                         \
        && (!is_cut || (column + (k) * p->stride_w >= 0 && column + (k) * p->stride_w < p->in_w)))           \
        s = ek_fm4_fma(s, ek_fm4_load(cell + (k) * p->stride_w * p->in_c, vl), weights, vl);
#define EK_FN_finish(k, s)                                                                                   \
    if (pixels > (k))                                                                                        \
        ek_fm4_finish(y + (k) * p->out_c, s, scale, EK_F32_KIND, p->lo, p->hi, vl);

/* `vl` channels of some pixels, whose windows begin in row `top` and, the first one's, in column `left` of x. Unless
 * `is_cut`, all of their columns are inside. */
EK_INLINE void EK_FN_pixels(const float *x, const uint8_t *EK_RESTRICT w, const float *EK_RESTRICT b,
    const float *EK_RESTRICT scale, float *y, const int32_t top, const int32_t left, const int32_t pixels,
    const int32_t is_cut, const size_t vl, const struct EK_STRUCT *p)
{
    const int32_t bytes = ek_weight_bytes(EK_F32_KIND),
                  last = ek_end_tap(top, p->dilation_h, p->k_h, p->in_h);
    ek_fm4_floats s0 = ek_fm4_load(b, vl), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0,
                  s8 = s0, s9 = s0, s10 = s0, s11 = s0;
    for (int32_t i = ek_first_tap(top, p->dilation_h); i < last; i++)
        EK_UNROLLED_FOR(8, int32_t j = 0; j < p->k_w; j++) {
            const int32_t column = left + j * p->dilation_w;
            const float *const cell = x + ((top + i * p->dilation_h) * p->in_w + column) * p->in_c;
            const ek_fm4_floats weights =
                ek_fm4_weights(w + (i * p->k_w + j) * p->out_c * bytes, EK_F32_KIND, vl);
            EK_EACH_PIXEL(EK_FN_add)
        }
    EK_EACH_PIXEL(EK_FN_finish)
}

/* All channels of some pixels of a row, from column v on. */
EK_INLINE void EK_FN_channels(const float *x, const uint8_t *EK_RESTRICT w, const float *EK_RESTRICT b,
    const float *EK_RESTRICT scale, float *y, const int32_t top, const int32_t v, const int32_t pixels,
    const int32_t is_cut, const struct EK_STRUCT *p)
{
    for (int32_t o = 0, vl = 0; o < p->out_c; o += vl) {
        vl = (int32_t)ek_fm4_count(p->out_c - o);
        EK_FN_pixels(x + o, w + o * ek_weight_bytes(EK_F32_KIND), b + o, scale ? scale + o : 0,
            y + v * p->out_c + o, top, v * p->stride_w - p->pad_left, pixels, is_cut, (size_t)vl, p);
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_IF_SCALE(const EK_B *EK_RESTRICT scale, ) EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const int32_t pixels = ek_tile_pixels(p->out_w, EK_FM4_CHANNEL_PIXELS),
                  whole = (p->out_w - 1) / pixels * pixels;
    /* Between the first pixels and the last ones: do windows reach beyond the image? */
    const int32_t is_cut =
        pixels * p->stride_w < p->pad_left
        || (whole - 1) * p->stride_w - p->pad_left + (p->k_w - 1) * p->dilation_w >= p->in_w;
    const uint8_t *const weights = (const uint8_t *)w;
    const float *scales = 0;
    EK_IF_SCALE(scales = scale;)
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->in_c)
        for (int32_t h = 0; h < p->out_h; h++, y += p->out_w * p->out_c) {
            const int32_t top = h * p->stride_h - p->pad_top;
            int32_t v = 0;
            if (EK_IS_COMPACT) {
                for (; v + EK_FM4_CHANNEL_PIXELS <= p->out_w; v += EK_FM4_CHANNEL_PIXELS)
                    EK_FN_channels(x, weights, b, scales, y, top, v, EK_FM4_CHANNEL_PIXELS, 1, p);
                for (; v < p->out_w; v++)
                    EK_FN_channels(x, weights, b, scales, y, top, v, 1, 1, p);
                continue;
            }
            if (whole > 0)
                EK_FN_channels(x, weights, b, scales, y, top, 0, pixels, 1, p);
            for (v = pixels; v < whole; v += pixels)
                EK_FN_channels(x, weights, b, scales, y, top, v, pixels, is_cut, p);
            EK_FN_channels(x, weights, b, scales, y, top, whole, p->out_w - whole, 1, p);
        }
}
