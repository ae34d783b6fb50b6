/* Long short-term memory.
 * @pack r: G O/16 I o16 @work gates of steps, positions, products */
/* Long short-term memory, sums of gates eight at a time: see gate_sums_avx2.h.
 * @as avx2/lstm T=f32 gate_sums=gate_tiles @pack r: G O/16!8 I o16 */
/* Long short-term memory, sums of gates sixteen at a time: see gate_sums_avx512.h.
 * @as avx512/lstm T=f32 gate_sums=gate_tiles @pack r: G O/64!16 I o64 */
/* Long short-term memory, sums of gates by NEON.
 * @as neon/lstm, neon32/lstm like avx2/lstm @pack r: G O/16!4 I o16 */
/* Long short-term memory, sums of gates in vectors of any length: see gate_sums_rvv.h.
 * @as rvv/lstm T=f32 gate_sums=gate_tiles @pack r: G O/64 I o64 */
/* Long short-term memory, sums of gates four at a time: see gate_sums_riscvf.h.
 * @as riscvf/lstm T=f32 gate_sums=gate_tiles @pack r: G O/4 I o4 */
/* Long short-term memory, sums of gates four at a time: see gate_sums_vfp.h.
 * @as vfp/lstm like riscvf/lstm @work gates of steps, products */
#include "edgekit/contracts/lstm.h"

/* One step of one sequence: h and c become what they are after the gates. */
EK_INLINE void EK_FN_step(
    const EK_T *EK_RESTRICT gate, EK_T *EK_RESTRICT h, EK_T *EK_RESTRICT c, const int32_t size)
{
    for (int32_t i = 0; i < size; i++) {
        const EK_T_ACC in = EK_MATH_T(sigmoid)(gate[i]), keep = EK_MATH_T(sigmoid)(gate[2 * size + i]);
        c[i] = keep * c[i] + in * EK_MATH_T(tanh)(gate[3 * size + i]);
    }
    for (int32_t i = 0; i < size; i++)
        h[i] = EK_MATH_T(sigmoid)(gate[size + i]) * EK_MATH_T(tanh)(c[i]);
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT r, const EK_T *h0, const EK_T *c0,
    EK_T *EK_RESTRICT y, EK_T *EK_RESTRICT h, EK_T *EK_RESTRICT c, EK_T *EK_RESTRICT gate,
    const struct EK_STRUCT *p)
{
    const int32_t size = p->size, all = p->batch * size;
    for (int32_t i = 0; i < all; i++) {
        h[i] = h0[i];
        c[i] = c0[i];
    }
    for (int32_t step = 0; step < p->steps; step++) {
        const int32_t t = p->reverse ? p->steps - 1 - step : step;
        for (int32_t n = 0; n < p->batch; n++) {
            const EK_T *const own = x + 4 * (t * all + n * size);
            for (int32_t k = 0; k < 4; k++)
                EK_MATH_T(gate_sums)(own + k * size, r, h + n * size, gate + k * size, k, size);
            EK_FN_step(gate, h + n * size, c + n * size, size);
            for (int32_t i = 0; i < size; i++)
                y[t * all + n * size + i] = h[n * size + i];
        }
    }
}
