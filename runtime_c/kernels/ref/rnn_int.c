/* Plain recurrent layer on int8: see rnn_int.h. */
#include "edgekit/rnn_int.h"

#include "edgekit/gates.h"

EK_KERNEL void EK_FN(const int16_t *EK_RESTRICT x, const int8_t *EK_RESTRICT r, const int8_t *EK_RESTRICT h0,
    const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int16_t *EK_RESTRICT tanh,
    int8_t *EK_RESTRICT y, int8_t *EK_RESTRICT h, int16_t *EK_RESTRICT gate, const struct EK_STRUCT *p)
{
    const int32_t size = p->size, all = p->batch * size;
    const struct ek_gates g = {r, b, m, size, p->shift, p->x_m, p->x_shift};
    for (int32_t i = 0; i < all; i++)
        h[i] = h0[i];
    for (int32_t step = 0; step < p->steps; step++) {
        const int32_t t = p->reverse ? p->steps - 1 - step : step;
        for (int32_t n = 0; n < p->batch; n++) {
            const int32_t at = t * all + n * size;
            int8_t *const state = h + n * size;
            int32_t more[4];
            for (int32_t o = 0; o < size; o += 4) {
                ek_state_sums(&g, state, o, size, more);
                ek_add_inputs(&g, x + at, more, gate, o, size);
            }
            for (int32_t i = 0; i < size; i++) {
                const int32_t v = !p->relu ? ek_tanh_of_sum(gate[i], tanh) : gate[i] < 0 ? 0 : gate[i];
                state[i] = ek_clamp_s8(p->zero + ek_scale_s16(v, p->y_m, p->y_shift), -128, 127);
                y[at + i] = state[i];
            }
        }
    }
}
