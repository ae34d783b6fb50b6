/* Fully connected layer. Rows are the pixels of a line: see pixel_rows_f32.h.
 * @for T=f32 W=f32 B=f32 @pack w: O/16!8 I o16 @split rows >= 8 */
/* Fully connected layer of floats with weights of 16 bits.
 * @as avx2/dense.bf16 W=bf16 f32=bf16 @pack w: O/16!8 I o16(zip8)
 * @as avx2/dense.f16 W=f16 f32=f16
 * @as avx512/dense.bf16 W=bf16 f32=bf16 @pack w: O/64!16 I o64(zip16)
 * @as avx512/dense.f16 W=f16 f32=f16 @pack w: O/64!16 I o64
 * @as neon/dense.bf16 W=bf16 f32=bf16 @pack w: O/16!4 I o16 @order rows 4 4
 * @as neon/dense.f16 W=f16 f32=f16 like neon/dense.bf16
 * @as neon32/dense.bf16 like neon/dense.bf16 @order rows 2 2
 * @as neon32/dense.f16 like neon/dense.f16 @order rows 2 2
 * @as riscvf/dense.bf16 W=bf16 f32=bf16 @pack w: O/4 I o4 @order rows 4 4
 * @as riscvf/dense.f16 W=f16 f32=f16 @pack w: O/4 I o4 @order rows 4 4 */
/* Fully connected layer with AVX-512.
 * @as avx512/dense @pack w: O/64!16 I o64 */
/* Fully connected layer of floats with weights of bytes: scales are in place of what is added.
 * @as avx2/dense_scaled W=s8 f32=s8
 * @as avx512/dense_scaled W=s8 f32=s8 @pack w: O/64!16 I o64
 * @as neon/dense_scaled W=s8 f32=s8 like neon/dense.f16
 * @as neon32/dense_scaled W=s8 f32=s8 like neon32/dense.f16
 * @as riscvf/dense_scaled W=s8 f32=s8 @pack w: O/4 I o4 @order rows 4 4 */
/* Fully connected layer with NEON. All outputs of four rows are computed before the next.
 * @as neon/dense @pack w: O/16!4 I o16 @order rows 4 4 */
/* Fully connected layer with NEON. Subnormal numbers count as 0, as this unit has it.
 * @as neon32/dense @pack w: O/16!4 I o16 @order rows 2 2 */
/* Fully connected layer of floats one at a time. All outputs of four rows are computed before the next.
 * @as riscvf/dense @pack w: O/4 I o4 @order rows 4 4 */
#include "edgekit/contracts/dense.h"

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_IF_SCALE(const EK_B *EK_RESTRICT scale, ) EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const struct ek_window_f32 s = {1, 1, p->inputs, 0, 0, 1, 0, 0, 0, 0, 0, EK_F32_KIND, p->lo, p->hi};
    const int32_t together = p->rows < EK_VF_TOGETHER ? p->rows : EK_VF_TOGETHER;
    const float *scales = 0;
    EK_IF_SCALE(scales = scale;)
    int32_t r = 0;
    for (; r + together <= p->rows; r += together)
        ek_parts_f32(x + r * p->inputs, w, b, scales, y + r * p->outputs, p->inputs, p->outputs, together,
            p->inputs, 0, p->outputs, &s);
    for (; r < p->rows; r++) /* one by one, as results may lie over inputs */
        ek_parts_f32(x + r * p->inputs, w, b, scales, y + r * p->outputs, p->inputs, p->outputs, 1, p->inputs,
            0, p->outputs, &s);
}
