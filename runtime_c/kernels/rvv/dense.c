/* Fully connected layer of floats. Outputs of up to three rows advance together, as many as eight vector registers hold.
 * @for T=f32 W=f32 B=f32 @pack w: O/64 I o64 @order rows 32 3
 * @count blocks: (outputs + 63) // 64
 * @count tiles: (rows + 2) // 3
 * @count weight vectors: tiles * blocks * inputs
 * @count results: rows * blocks
 * @work calls 5.77, products by 64 outputs 0.172, results 12.9, tiles 43.3, weight vectors 9.93 */
/* Fully connected layer of floats, for few outputs of several rows: four vector registers, of up to five rows.
 * @as rvv/dense.oc32 fm8=fm4 @order rows 16 5
 * @count blocks: (outputs + 31) // 32
 * @count tiles: (rows + 4) // 5
 * @work calls 30.9, products by 32 outputs 0.189, results 15.2, weight vectors 6.85 */
/* Fully connected layer of floats, for few outputs of several rows: two vector registers, of up to twelve rows.
 * @as rvv/dense.oc16 fm8=fm2 @order rows 8 12
 * @count blocks: (outputs + 15) // 16
 * @count tiles: (rows + 11) // 12
 * @work products by 16 outputs 0.247, results 12.2, tiles 30.2, weight vectors 4.94 */
/* Fully connected layer of floats with weights of 16 bits: up to five rows, as many outputs as four vector registers hold.
 * @as rvv/dense.bf16 W=bf16 fm8=fm4 f32=bf16 @order rows 16 5
 * @work calls 57.6, products by 32 outputs 0.474, weights 0.226
 * @as rvv/dense.f16 W=f16 fm8=fm4 f32=f16 @order rows 16 5
 * @work calls 990, positions 22, products by 32 outputs 0.605, weights 2.27 */
/* Fully connected layer of floats with weights of 16 bits, for one row or two.
 * @as rvv/dense.bf16_rows2 W=bf16 f32=bf16 @work positions 1.69, products by 64 outputs 0.593 */
/* Fully connected layer of floats with weights of bytes: scales are in place of what is added. Up to five rows, as many
 * outputs as four vector registers hold.
 * @as rvv/dense_scaled W=s8 fm8=fm4 f32=s8 @order rows 16 5
 * @work calls 34.5, positions 44.6, products by 32 outputs 0.252, weights 0.538 */
/* Fully connected layer of floats with weights of bytes, for one row or two.
 * @as rvv/dense_scaled.rows2 W=s8 f32=s8 @work positions 97.3, products by 64 outputs 0.374, weights 0.318 */
#include "edgekit/contracts/dense.h"

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_IF_SCALE(const EK_B *EK_RESTRICT scale, ) EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const ek_fm8_window s = {
        1, 1, p->inputs, 0, 0, 1, p->inputs, 0, 0, p->outputs, EK_F32_KIND, p->lo, p->hi};
    const float *scales = 0;
    EK_IF_SCALE(scales = scale;)
    ek_fm8_line(x, (const uint8_t *)w, b, scales, y, p->inputs, p->outputs, p->rows, &s);
}
