/* Fully connected layer of floats. Outputs of up to three rows advance together, as many as eight vector registers hold.
 * @for T=f32 W=f32 B=f32
 * @pack w: O/64 I o64
 * @order rows 32 3
 * @work padded products 1 */
/* Fully connected layer of floats, for few outputs of several rows: four vector registers, of up to five rows.
 * @as rvv/dense.oc32 fm8=fm4
 * @for T=f32 W=f32 B=f32
 * @when rows > 3 and 16 < outputs <= 32
 * @order rows 16 5
 * @work padded products 0.95 */
/* Fully connected layer of floats, for few outputs of several rows: two vector registers, of up to twelve rows.
 * @as rvv/dense.oc16 fm8=fm2
 * @for T=f32 W=f32 B=f32
 * @when rows > 3 and outputs <= 16
 * @order rows 8 12
 * @work padded products 0.902 */
/* Fully connected layer of floats with weights of 16 bits: up to five rows, as many outputs as four vector registers hold.
 * @as rvv/dense.bf16 fm8=fm4 f32=bf16
 * @for T=f32 W=bf16 B=f32
 * @order rows 16 5
 * @work padded products 1 */
/* Fully connected layer of floats with weights of 16 bits: up to five rows, as many outputs as four vector registers hold.
 * @as rvv/dense.f16 fm8=fm4 f32=f16
 * @for T=f32 W=f16 B=f32
 * @order rows 16 5
 * @work padded products 1 */
/* Fully connected layer of floats with weights of 16 bits, for one row or two.
 * @as rvv/dense.bf16_rows2 f32=bf16
 * @for T=f32 W=bf16 B=f32
 * @when rows <= 2
 * @order rows 32 3
 * @work padded products 0.95 */
/* Fully connected layer of floats with weights of 16 bits, for one row or two.
 * @as rvv/dense.f16_rows2 f32=f16
 * @for T=f32 W=f16 B=f32
 * @when rows <= 2
 * @order rows 32 3
 * @work padded products 0.95 */
/* Fully connected layer of floats with weights of bytes: scales are in place of what is added. Up to five rows, as many
 * outputs as four vector registers hold.
 * @as rvv/dense_scaled fm8=fm4 f32=s8
 * @for T=f32 W=s8 B=f32
 * @order rows 16 5
 * @work padded products 1 */
/* Fully connected layer of floats with weights of bytes, for one row or two.
 * @as rvv/dense_scaled.rows2 f32=s8
 * @for T=f32 W=s8 B=f32
 * @when rows <= 2
 * @order rows 32 3
 * @work padded products 0.95 */
#include "edgekit/contracts/dense.h"

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_SCALE(const EK_B *EK_RESTRICT scale, ) EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const ek_fm8_window s = {
        1, 1, p->inputs, 0, 0, 1, p->inputs, 0, 0, p->outputs, EK_F32_KIND, p->lo, p->hi};
    const float *scales = 0;
    EK_SCALE(scales = scale;)
    ek_fm8_line(x, (const uint8_t *)w, b, scales, y, p->inputs, p->outputs, p->rows, &s);
}
