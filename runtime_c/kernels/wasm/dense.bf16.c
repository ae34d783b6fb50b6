/* Fully connected layer of floats with weights of 16 bits, which are widened eight outputs at a time.
 * @for T=f32 W=bf16 B=f32 @pack w: O/8! I o8 @pack b: O/8! o8 @scratch 32 * inputs @split rows >= 4
 * @as wasm/dense.f16 W=f16 bf16=f16 */
#include "edgekit/contracts/dense.h"

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const struct ek_lines_f32_wasm lines = {
        x, b, y, 1, 0, p->inputs, p->rows, 1, p->inputs, 0, p->outputs, p->lo, p->hi};
    if (p->rows < 4)
        ek_bf16_few_wasm(&lines, w, (float *)(void *)scratch);
    else
        ek_bf16_outputs_wasm(&lines, w, (float *)(void *)scratch);
}
