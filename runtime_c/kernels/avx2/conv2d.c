/* Convolution. Pixels whose windows are cut alike lie on lines: rows inside of the image, columns along its borders,
 * and corners; see image_f32.h. What a window has outside of x is left out. Two vectors of outputs are computed
 * together, or three where a group has so many. A line of few pixels splits each sum, which rounds differently: lines of
 * parts for several cores are as long as those of the whole, or long enough. Windows of at most so many rows are cut
 * above or below as the image has pads there.
 * @for T=f32 W=f32 B=f32 @also conv2d_add @apart
 * @pack w: G O/{24 if out_c == 24 * groups else 16}!8 H W I o{24 if out_c == 24 * groups else 16}
 * @split pixels >= (3 if (out_c // groups - 1) % 64 >= 16 and (out_c // groups - 1) % 16 >= 8 else 5)
 * @split out_h >= max(pad_top, (out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1 - in_h) + (3 if (out_c // groups - 1) % 64 >= 16 and (out_c // groups - 1) % 16 >= 8 else 5)
 * @split out_h >= max(pad_top, (out_h - 1) * stride_h + (k_h - 1) * dilation_h + 1 - in_h) + (6 if out_w < 6 + (k_w - 1) * dilation_w else 0)
 * @count flat: whole_h * whole_w == out_h * out_w and out_w * stride_w * step_w == stride_h * step_h
 * @count tall: not flat and whole_w < 6 and whole_h >= 6
 * @count corners: (out_h - whole_h) * (out_w - whole_w)
 * @count across: 0 if flat else out_h - tall * whole_h
 * @count down: 0 if flat else out_w if tall else out_w - whole_w
 * @count most: 12 if out_c <= 8 * groups else 4 if out_c == 24 * groups else 6
 * @count tiles: -(-out_h * out_w // most) if flat
 * @count tiles: else corners + across * -(-whole_w // most) + down * -(-whole_h // most)
 * @count vectors: batch * groups * ((out_c // groups + 7) // 8)
 * @count parts: batch * groups * (1 if out_c == 24 * groups else (out_c // groups + 15) // 16)
 * @count cells: taps_h * taps_w * (in_c // groups)
 * @count lines: parts * (flat or corners + across + down)
 * @count rows: parts * tiles * k_h
 * @count weight vectors: vectors * tiles * cells // (out_h * out_w)
 * @count broadcasts: parts * cells
 * @count product vectors: vectors * cells
 * @work broadcasts 1.16, calls 8.32, product vectors 1.56, rows 4.1, weight vectors 0.813 */
/* Convolution of floats with weights of 16 bits.
 * @as avx2/conv2d.bf16 W=bf16 f32=bf16
 * @pack w: G O/{24 if out_c == 24 * groups else 16}!8 H W I o{24 if out_c == 24 * groups else 16}(zip8)
 * @work broadcasts 1.69, lines 2.24, product vectors 1.11, weight vectors 2.39
 * @as avx2/conv2d.f16 W=f16 f32=f16 @work broadcasts 2.54, weight vectors 2.42 */
/* Convolution with AVX-512.
 * @as avx512/conv2d @pack w: G O/64!16 H W I o64
 * @count most: 16 if out_c <= 16 * groups else 12 if out_c <= 32 * groups else 8 if out_c <= 48 * groups else 6
 * @count vectors: batch * groups * ((out_c // groups + 15) // 16)
 * @count parts: batch * groups * ((out_c // groups + 63) // 64)
 * @work broadcasts 0.287, product vectors 1.38, weight vectors 1.88 */
/* Convolution of floats with weights of 16 bits, with AVX-512.
 * @as avx512/conv2d.bf16 W=bf16 f32=bf16 like avx512/conv2d @pack w: G O/64!16 H W I o64(zip16)
 * @work broadcasts 0.325, product vectors 1.24, weight vectors 2.89
 * @as avx512/conv2d.f16 W=f16 f32=f16 like avx512/conv2d @work broadcasts 1.51, weight vectors 2.21 */
/* Convolution of floats with weights of bytes: scales are in place of what is added.
 * @as avx2/conv2d_scaled W=s8 f32=s8 @without also
 * @as avx512/conv2d_scaled W=s8 f32=s8 @without also @pack w: G O/64!16 H W I o64 */
#include "edgekit/contracts/conv2d.h"

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_IF_SCALE(const EK_B *EK_RESTRICT scale, ) EK_IF_R(const EK_T *EK_RESTRICT r, ) EK_T *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    const int32_t depth = p->in_c / p->groups, outputs = p->out_c / p->groups;
    const int32_t part = outputs == 3 * EK_VF_LANES ? outputs : EK_VF_PART;
    const int32_t tiled = (outputs + EK_VF_LANES - 1) / EK_VF_LANES * EK_VF_LANES * p->k_h * p->k_w * depth;
    const struct ek_image_f32 s = {p->in_h, p->in_w, depth, p->step_h, p->step_w, p->step_c, p->out_h,
        p->out_w, p->out_c, p->k_h, p->k_w, p->stride_h, p->stride_w, p->pad_top, p->pad_left, p->dilation_h,
        p->dilation_w, EK_F32_KIND, p->lo, p->hi};
    for (int32_t n = 0; n < p->batch;
        n++, x += p->in_h * p->in_w * p->in_c, y += p->out_h * p->out_w * p->out_c) {
        for (int32_t g = 0; g < p->groups; g++) {
            const float *addend = 0;
            EK_IF_R(addend = r + g * outputs;)
            EK_IF_SCALE(addend = scale + g * outputs;)
            ek_image_f32(x + g * depth * p->step_c, w + g * tiled, b + g * outputs, addend, y + g * outputs,
                outputs, part, &s);
        }
        EK_IF_R(r += p->out_h * p->out_w * p->out_c;)
    }
}
