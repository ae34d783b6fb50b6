/* SwiGLU with a scalar FPU, two numbers at a time: see swiglu_vfp.h.
 * @for T=f32 @work inputs, positions */
#include "edgekit/contracts/swiglu.h"
#include "edgekit/math/math_exp_f32.h"
#include "edgekit/simd/cortex_m/swiglu_vfp.h"

EK_KERNEL void EK_FN(const EK_T *a, const EK_T *b, EK_T *y, const struct EK_STRUCT *p)
{
    static const float terms[] = {
        87.0f, -EK_LOG2_E_F32, EK_EXP2_ROUNDS, -EK_LN2_HIGH_F32, 1.0f, EK_LN2_LOW_F32, EK_EXP_TERMS};
    const int32_t pairs = p->n / 2 * 2;
    if (pairs)
        ek_swiglu_pairs(a, b, y, pairs, terms);
    if (pairs < p->n) {
        const float gate[2] = {a[pairs], 0}, x[2] = {b[pairs], 0};
        float last[2];
        ek_swiglu_pairs(gate, x, last, 2, terms);
        y[pairs] = last[0];
    }
}
