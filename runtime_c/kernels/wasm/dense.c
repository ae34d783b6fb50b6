/* Fully connected layer of floats: see pixel_rows_f32_wasm.h. Rows are the pixels of a line.
 * @for T=f32 W=f32 B=f32 @pack w: O/8! I o8 @pack b: O/8! o8 @split rows >= 4 */
#include "edgekit/contracts/dense.h"

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const struct ek_lines_f32_wasm lines = {
        x, b, y, 1, 0, p->inputs, p->rows, 1, p->inputs, 0, p->outputs, p->lo, p->hi};
    if (p->rows < 4)
        ek_f32_few_wasm(&lines, w, 0);
    else
        ek_f32_outputs_wasm(&lines, w, 0);
}
