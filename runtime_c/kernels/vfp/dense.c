/* Fully connected layer of floats with a scalar FPU: see dense.h. Four outputs of two rows advance together.
 * for T=f32 W=f32 B=f32
 * pack w: O/4! I o4
 * pack b: O/4! o4 */
#include "edgekit/dense.h"
#include "edgekit/dots_f32_vfp.h"

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const struct ek_cut_vfp whole = {p->inputs > 0, 1, p->inputs, 0, 0, 0, 0};
    float sums[8];
    for (int32_t r = 0; r < p->rows; r += 2, x += 2 * p->inputs, y += 2 * p->outputs)
        for (int32_t o = 0; o < p->outputs; o += 4) {
            const int32_t width = p->outputs - o < 4 ? p->outputs - o : 4;
            if (r + 1 < p->rows) {
                ek_dots_f32_vfp_x2(x, x + p->inputs, w + o * p->inputs, b + o, sums, &whole);
                ek_put_vfp(y + p->outputs + o, sums + 4, width, p->lo, p->hi);
            } else
                ek_dots_f32_vfp(x, w + o * p->inputs, b + o, sums, &whole);
            ek_put_vfp(y + o, sums, width, p->lo, p->hi);
        }
}
