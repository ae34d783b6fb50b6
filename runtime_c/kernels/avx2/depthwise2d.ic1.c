/* Depthwise convolution of one channel, which is a convolution: see image_f32.h.
 * @for T=f32 W=f32 B=f32 @when in_c == 1 and out_c > 1 @pack w: O/16!8 H W I o16
 * @work padded products 0.356 */
/* Depthwise convolution of one channel of floats with weights of 16 bits.
 * @as avx2/depthwise2d.ic1_bf16 W=bf16 f32=bf16 @pack w: O/16!8 H W I o16(zip8) @work padded products 0.386
 * @as avx2/depthwise2d.ic1_f16 W=f16 f32=f16 @work padded products 0.361
 * @as avx512/depthwise2d.ic1_bf16 W=bf16 f32=bf16 @pack w: O/64!16 H W I o64(zip16)
 * @work padded products 0.95
 * @as avx512/depthwise2d.ic1_f16 W=f16 f32=f16 @pack w: O/64!16 H W I o64 @work padded products 0.95 */
/* Depthwise convolution of one channel with AVX-512.
 * @as avx512/depthwise2d.ic1 @pack w: O/64!16 H W I o64 @work padded products 0.95 */
#include "edgekit/contracts/depthwise2d.h"

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const struct ek_image_f32 s = {p->in_h, p->in_w, 1, p->in_w, 1, 1, p->out_h, p->out_w, p->out_c, p->k_h,
        p->k_w, p->stride_h, p->stride_w, p->pad_top, p->pad_left, p->dilation_h, p->dilation_w, EK_F32_KIND,
        p->lo, p->hi};
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w, y += p->out_h * p->out_w * p->out_c)
        ek_image_f32(x, w, b, 0, y, p->out_c, EK_VF_LANES * EK_VF_BLOCKS, &s);
}
