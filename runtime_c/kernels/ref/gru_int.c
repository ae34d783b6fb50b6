/* Gated recurrent units on int8, a state of 16 bits: see gru_int.h. */
#include "edgekit/gru_int.h"

#include "edgekit/gates.h"

/* The state as weights take it, and the layers that follow. */
EK_INLINE void EK_FN_narrow(const int16_t *EK_RESTRICT h, int8_t *EK_RESTRICT q, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->size; i++)
        q[i] = ek_clamp_s8(p->zero + ek_scale_s16(h[i], p->y_m, p->y_shift), -128, 127);
}

/* The sums of n, in the place of the last gate; the reset is that before it. */
EK_INLINE void EK_FN_news(const struct ek_gates *g, const int16_t *EK_RESTRICT x, const int8_t *EK_RESTRICT q,
    const int16_t *EK_RESTRICT tanh, int16_t *EK_RESTRICT gate, const struct EK_STRUCT *p)
{
    const int32_t size = p->size;
    const int16_t *const s = gate + size;
    int32_t more[4];
    if (p->reset_after) {
        for (int32_t i = 0; i < size; i++) {
            if ((i & 3) == 0)
                ek_state_sums(g, q, 2 * size + i, 3 * size, more);
            const int32_t inner = ek_clamp_s32(more[i & 3], -65535, 65535);
            const int32_t kept = (ek_sigmoid_of_sum(s[i], tanh) * inner + (1 << 14)) >> 15;
            gate[2 * size + i] = (int16_t)ek_saturate_sum(ek_input_sum(g, x[2 * size + i]) + kept);
        }
        return;
    }
    int8_t *const kept = (int8_t *)(gate + 3 * size);
    for (int32_t i = 0; i < size; i++) {
        const int32_t part = (ek_sigmoid_of_sum(s[i], tanh) * (q[i] - p->zero) + (1 << 14)) >> 15;
        kept[i] = (int8_t)(p->zero + part);
    }
    for (int32_t o = 2 * size; o < 3 * size; o += 4) {
        ek_state_sums(g, kept, o, 3 * size, more);
        ek_add_inputs(g, x, more, gate, o, 3 * size);
    }
}

/* One step of one sequence: h becomes what it is after the gates. */
EK_INLINE void EK_FN_step(const int16_t *EK_RESTRICT gate, const int16_t *EK_RESTRICT tanh,
    int16_t *EK_RESTRICT h, const struct EK_STRUCT *p)
{
    const int16_t *const n = gate + 2 * p->size;
    for (int32_t i = 0; i < p->size; i++) {
        const int32_t z = ek_sigmoid_of_sum(gate[i], tanh);
        const int32_t more = (32768 - z) * ek_tanh_of_sum(n[i], tanh) >> p->bits;
        h[i] = (int16_t)ek_clamp_s32((z * h[i] + more + (1 << 14)) >> 15, -32768, 32767);
    }
}

EK_KERNEL void EK_FN(const int16_t *EK_RESTRICT x, const int8_t *EK_RESTRICT r, const int16_t *EK_RESTRICT h0,
    const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int16_t *EK_RESTRICT tanh,
    int8_t *EK_RESTRICT y, int16_t *EK_RESTRICT h, int16_t *EK_RESTRICT gate, const struct EK_STRUCT *p)
{
    const int32_t size = p->size, all = p->batch * size;
    const struct ek_gates g = {r, b, m, size, p->shift, p->x_m, p->x_shift};
    for (int32_t i = 0; i < all; i++)
        h[i] = h0[i];
    for (int32_t step = 0; step < p->steps; step++) {
        const int32_t t = p->reverse ? p->steps - 1 - step : step;
        for (int32_t n = 0; n < p->batch; n++) {
            const int16_t *const sums = x + 3 * (t * all + n * size);
            int16_t *const state = h + n * size;
            int32_t more[4];
            int8_t *const q = y + t * all + n * size; /* before the step the last state, then the new one */
            EK_FN_narrow(state, q, p);
            for (int32_t o = 0; o < 2 * size; o += 4) {
                ek_state_sums(&g, q, o, 2 * size, more);
                ek_add_inputs(&g, sums, more, gate, o, 2 * size);
            }
            EK_FN_news(&g, sums, q, tanh, gate, p);
            EK_FN_step(gate, tanh, state, p);
            EK_FN_narrow(state, q, p);
        }
    }
}
