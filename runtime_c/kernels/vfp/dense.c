/* Fully connected layer of floats with a scalar FPU. Four outputs of two rows advance together.
 * @for T=f32 W=f32 B=f32 @pack w: O/4! I o4 @pack b: O/4! o4
 * @work calls, clamped outputs, odd outputs, padded products, paired outputs, paired products, weights */
/* Fully connected layer of floats with weights of 16 bits.
 * @as vfp/dense.bf16 W=bf16 f32=bf16
 * @work calls, clamped outputs, padded products, paired outputs, paired products, weights
 * @as vfp/dense.f16 W=f16 f32=f16
 * @work calls, clamped outputs, padded products, paired outputs, paired products, weights */
#include "edgekit/contracts/dense.h"
#include "edgekit/simd/cortex_m/gemm_f32_vfp.h"

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t o = 0; o < p->outputs; o += 4) {
        const int32_t width = p->outputs - o < 4 ? p->outputs - o : 4;
        struct ek_pixels_vfp s = {p->inputs > 0, 1, p->inputs, 0, 0, 0, p->inputs * 4, p->outputs * 4, 1,
            ek_bounds_vfp(p->lo, p->hi), p->lo, p->hi, b + o, {0, 0, 0}};
        if (p->rows == 1 && p->outputs % 4 == 0) /* neither pairs of rows nor a rest */
            ek_f32_dots_vfp(x, w + o * p->inputs, y + o, &s);
        else
            ek_f32_outputs_vfp(x, w + o * p->inputs, y + o, width, p->rows, &s);
    }
}
