/* Fully connected layer: see dense.h. Rows are the pixels of a line: see pixel_rows_f32.h.
 * @for T=f32 W=f32 B=f32
 * @pack w: O/16!8 I o16
 * @split rows >= 8 */
/* Fully connected layer of floats with weights of 16 bits: as avx2/dense.c.
 * @as avx2/dense.bf16 f32=bf16
 * @for T=f32 W=bf16 B=f32
 * @pack w: O/16!8 I o16(zip8) */
/* Fully connected layer of floats with weights of 16 bits: as avx2/dense.c.
 * @as avx2/dense.f16 f32=f16
 * @for T=f32 W=f16 B=f32 */
/* Fully connected layer of floats with weights of 16 bits: as avx2/dense.c.
 * @as avx512/dense.bf16 f32=bf16
 * @for T=f32 W=bf16 B=f32
 * @pack w: O/64!16 I o64(zip16) */
/* Fully connected layer with AVX-512: as avx2/dense.c, with longer vectors.
 * @as avx512/dense
 * @for T=f32 W=f32 B=f32
 * @pack w: O/64!16 I o64 */
/* Fully connected layer of floats with weights of 16 bits: as avx2/dense.c.
 * @as avx512/dense.f16 f32=f16
 * @for T=f32 W=f16 B=f32
 * @pack w: O/64!16 I o64 */
/* Fully connected layer of floats with weights of bytes: as avx2/dense.c, where scales are in place of what is added.
 * @as avx2/dense_scaled f32=s8
 * @for T=f32 W=s8 B=f32 */
/* Fully connected layer of floats with weights of bytes: as avx2/dense.c, where scales are in place of what is added.
 * @as avx512/dense_scaled f32=s8
 * @for T=f32 W=s8 B=f32
 * @pack w: O/64!16 I o64 */
#include "edgekit/contracts/dense.h"

EK_INLINE void EK_FN_part(const EK_T *x, const EK_W *w, const EK_B *b, const float *scale, EK_T *y,
    const int32_t outputs, const struct EK_STRUCT *p)
{
    const int32_t width = (outputs + EK_VF_LANES - 1) / EK_VF_LANES * EK_VF_LANES;
    const struct ek_window_f32 s = {
        1, 1, p->inputs, 0, 0, 1, 0, width, EK_VF_LANES, outputs, EK_F32_KIND, p->lo, p->hi};
    ek_line_f32(x, (const uint8_t *)w, b, scale, y, p->inputs, p->outputs, p->rows, &s);
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_SCALE(const EK_B *EK_RESTRICT scale, ) EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const float *scales = 0;
    EK_SCALE(scales = scale;)
    const int32_t whole = p->outputs / EK_VF_PART * EK_VF_PART;
    for (int32_t o = 0; o < whole; o += EK_VF_PART)
        EK_FN_part(x, w + o * p->inputs, b + o, scales ? scales + o : 0, y + o, EK_VF_PART, p);
    if (whole < p->outputs)
        EK_FN_part(x, w + whole * p->inputs, b + whole, scales ? scales + whole : 0, y + whole,
            p->outputs - whole, p);
}
