/* Plain recurrent layer.
 * @pack r: O/16 I o16 @work gates of steps, positions, products, scratch */
/* Plain recurrent layer, sums of gates eight at a time: see gate_sums_avx2.h.
 * @as avx2/rnn T=f32 gate_sums=gate_tiles @pack r: O/16!8 I o16 */
/* Plain recurrent layer, sums of gates sixteen at a time: see gate_sums_avx512.h.
 * @as avx512/rnn T=f32 gate_sums=gate_tiles @pack r: O/64!16 I o64 */
/* Plain recurrent layer, sums of gates by NEON.
 * @as neon/rnn, neon32/rnn like avx2/rnn @pack r: O/16!4 I o16 */
/* Plain recurrent layer, sums of gates in vectors of any length: see gate_sums_rvv.h.
 * @as rvv/rnn T=f32 gate_sums=gate_tiles @pack r: O/64 I o64 */
/* Plain recurrent layer, sums of gates four at a time: see gate_sums_riscvf.h.
 * @as riscvf/rnn T=f32 gate_sums=gate_tiles @pack r: O/4 I o4 */
/* Plain recurrent layer, sums of gates four at a time: see gate_sums_vfp.h.
 * @as vfp/rnn like riscvf/rnn @work gates of steps, positions, products, scratch */
#include "edgekit/contracts/rnn.h"

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT r, const EK_T *h0,
    EK_T *EK_RESTRICT y, EK_T *EK_RESTRICT h, EK_T *EK_RESTRICT gate, const struct EK_STRUCT *p)
{
    const int32_t size = p->size, all = p->batch * size;
    for (int32_t i = 0; i < all; i++)
        h[i] = h0[i];
    for (int32_t step = 0; step < p->steps; step++) {
        const int32_t t = p->reverse ? p->steps - 1 - step : step;
        for (int32_t n = 0; n < p->batch; n++) {
            EK_T *state = h + n * size, *out = y + t * all + n * size;
            EK_MATH_T(gate_sums)(x + t * all + n * size, r, state, gate, 0, size);
            for (int32_t i = 0; i < size; i++) {
                const EK_T_ACC a = gate[i];
                state[i] = EK_EXPR;
                out[i] = state[i];
            }
        }
    }
}
