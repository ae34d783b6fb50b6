/* Gated recurrent units. The weights of each gate stand for themselves.
 * @pack r: G O/16 I o16 @work gates of steps, positions, products */
/* Gated recurrent units, sums of gates eight at a time: see gate_sums_avx2.h.
 * @as avx2/gru T=f32 gate_sums=gate_tiles @pack r: G O/16!8 I o16 */
/* Gated recurrent units, sums of gates sixteen at a time: see gate_sums_avx512.h.
 * @as avx512/gru T=f32 gate_sums=gate_tiles @pack r: G O/64!16 I o64 */
/* Gated recurrent units, sums of gates by NEON.
 * @as neon/gru, neon32/gru like avx2/gru @pack r: G O/16!4 I o16 */
/* Gated recurrent units, sums of gates in vectors of any length: see gate_sums_rvv.h.
 * @as rvv/gru T=f32 gate_sums=gate_tiles @pack r: G O/64 I o64 */
/* Gated recurrent units, sums of gates four at a time: see gate_sums_riscvf.h.
 * @as riscvf/gru T=f32 gate_sums=gate_tiles @pack r: G O/4 I o4 */
/* Gated recurrent units, sums of gates four at a time: see gate_sums_vfp.h.
 * @as vfp/gru like riscvf/gru @work gates of steps, products */
#include "edgekit/contracts/gru.h"

/* One step of one sequence: h becomes what it is after x. */
EK_INLINE void EK_FN_step(const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT r, const EK_T *EK_RESTRICT b,
    EK_T *EK_RESTRICT h, EK_T *EK_RESTRICT gate, const struct EK_STRUCT *p)
{
    const int32_t size = p->size;
    EK_T *z = gate, *s = gate + size, *n = gate + 2 * size, *kept = gate + 3 * size;
    EK_MATH_T(gate_sums)(x, r, h, z, 0, size);
    EK_MATH_T(gate_sums)(x + size, r, h, s, 1, size);
    for (int32_t i = 0; i < size; i++) {
        z[i] = EK_MATH_T(sigmoid)(z[i]);
        s[i] = EK_MATH_T(sigmoid)(s[i]);
        kept[i] = s[i] * h[i];
    }
    if (p->reset_after) {
        EK_MATH_T(gate_sums)(b, r, h, n, 2, size);
        for (int32_t i = 0; i < size; i++)
            n[i] = x[2 * size + i] + s[i] * n[i];
    } else {
        EK_MATH_T(gate_sums)(x + 2 * size, r, kept, n, 2, size);
    }
    for (int32_t i = 0; i < size; i++)
        h[i] = (1 - z[i]) * EK_MATH_T(tanh)(n[i]) + z[i] * h[i];
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT r, const EK_T *h0,
    const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y, EK_T *EK_RESTRICT h, EK_T *EK_RESTRICT gate,
    const struct EK_STRUCT *p)
{
    const int32_t size = p->size, all = p->batch * size;
    for (int32_t i = 0; i < all; i++)
        h[i] = h0[i];
    for (int32_t step = 0; step < p->steps; step++) {
        const int32_t t = p->reverse ? p->steps - 1 - step : step;
        for (int32_t n = 0; n < p->batch; n++) {
            EK_FN_step(x + 3 * (t * all + n * size), r, b, h + n * size, gate, p);
            for (int32_t i = 0; i < size; i++)
                y[t * all + n * size + i] = h[n * size + i];
        }
    }
}
