/* Long short-term memory on int8, cells of 16 bits: see lstm_int.h. */
#include "edgekit/lstm_int.h"

#include "edgekit/gates.h"

/* One step of one sequence: h and c become what they are after the gates. */
EK_INLINE void EK_FN_step(const int16_t *EK_RESTRICT gate, const int16_t *EK_RESTRICT tanh,
    int8_t *EK_RESTRICT h, int16_t *EK_RESTRICT c, const struct EK_STRUCT *p)
{
    const int16_t *const o = gate + p->size, *const f = o + p->size, *const n = f + p->size;
    for (int32_t i = 0; i < p->size; i++) {
        const int32_t more = ek_sigmoid_of_sum(gate[i], tanh) * ek_tanh_of_sum(n[i], tanh) >> p->bits;
        const int32_t cell = (ek_sigmoid_of_sum(f[i], tanh) * c[i] + more + (1 << 14)) >> 15;
        c[i] = (int16_t)ek_clamp_s32(cell, -32768, 32767);
        const int32_t wide = ek_sigmoid_of_sum(o[i], tanh) * ek_tanh_of_sum(ek_as_sum(c[i], p->bits), tanh);
        const int32_t out = (wide + (1 << 14)) >> 15;
        h[i] = ek_clamp_s8(p->zero + ek_scale_s16(out, p->y_m, p->y_shift), -128, 127);
    }
}

EK_KERNEL void EK_FN(const int16_t *EK_RESTRICT x, const int8_t *EK_RESTRICT r, const int8_t *EK_RESTRICT h0,
    const int16_t *EK_RESTRICT c0, const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m,
    const int16_t *EK_RESTRICT tanh, int8_t *EK_RESTRICT y, int8_t *EK_RESTRICT h, int16_t *EK_RESTRICT c,
    int16_t *EK_RESTRICT gate, const struct EK_STRUCT *p)
{
    const int32_t size = p->size, all = p->batch * size;
    const struct ek_gates g = {r, b, m, size, p->shift, p->x_m, p->x_shift};
    for (int32_t i = 0; i < all; i++) {
        h[i] = h0[i];
        c[i] = c0[i];
    }
    for (int32_t step = 0; step < p->steps; step++) {
        const int32_t t = p->reverse ? p->steps - 1 - step : step;
        for (int32_t n = 0; n < p->batch; n++) {
            const int16_t *const sums = x + 4 * (t * all + n * size);
            int8_t *const state = h + n * size;
            int32_t more[4];
            for (int32_t o = 0; o < 4 * size; o += 4) {
                ek_state_sums(&g, state, o, 4 * size, more);
                ek_add_inputs(&g, sums, more, gate, o, 4 * size);
            }
            EK_FN_step(gate, tanh, state, c + n * size, p);
            for (int32_t i = 0; i < size; i++)
                y[t * all + n * size + i] = state[i];
        }
    }
}
