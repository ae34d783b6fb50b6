/* Long short-term memory of integers: see lstm_s8.h. */
#include "edgekit/lstm_s8.h"

#include "edgekit/fixed16.h"

EK_INLINE int32_t EK_FN_dot(
    const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int32_t sum, const int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The sums of all gates for one step of one sequence, without peepholes. */
EK_INLINE void EK_FN_sums(const int8_t *EK_RESTRICT x, const int8_t *EK_RESTRICT w,
    const int32_t *EK_RESTRICT b, const int8_t *EK_RESTRICT r, const int32_t *EK_RESTRICT d,
    const int8_t *EK_RESTRICT h, int16_t *EK_RESTRICT gate, const struct EK_STRUCT *p)
{
    const int32_t rows = (4 - p->first) * p->size;
    for (int32_t row = 0; row < rows; row++) {
        const int32_t k = p->first + row / p->size;
        const int32_t own = EK_FN_dot(x, w + row * p->inputs, b[row], p->inputs);
        const int32_t state = EK_FN_dot(h, r + row * p->outputs, d[row], p->outputs);
        const int32_t sum = ek_saturate_s16(ek_requantize_tfl(own, p->x_m[k], p->x_e[k]));
        gate[row] = (int16_t)ek_saturate_s16(ek_requantize_tfl(state, p->h_m[k], p->h_e[k]) + sum);
    }
}

/* The logistic function of a sum with what peephole k adds for cell i. */
EK_INLINE int32_t EK_FN_opened(const int32_t sum, const int16_t *EK_RESTRICT peep, const int32_t cell,
    const int32_t k, const int32_t i, const struct EK_STRUCT *p)
{
    if (!p->peepholes)
        return ek_logistic_s16(sum);
    const int32_t more = ek_requantize_tfl(peep[k * p->size + i] * cell, p->c_m[k], p->c_e[k]);
    return ek_logistic_s16(ek_saturate_s16(more + sum));
}

/* One step of one sequence from the sums of its gates: the cells, and what is projected or the state, in the place
 * of the last gate. */
EK_INLINE void EK_FN_cells(int16_t *EK_RESTRICT gate, const int16_t *EK_RESTRICT peep, int16_t *EK_RESTRICT c,
    const struct EK_STRUCT *p)
{
    const int32_t size = p->size, last = (3 - p->first) * size;
    for (int32_t i = 0; i < size; i++) {
        const int32_t keep = EK_FN_opened(gate[last - 2 * size + i], peep, c[i], 1, i, p);
        const int32_t in = p->first ? 32767 - keep : EK_FN_opened(gate[i], peep, c[i], 0, i, p);
        const int32_t n = ek_tanh_s16(gate[last - size + i], 3);
        const int32_t sum = ek_shift_away(keep * c[i], 15) + ek_shift_away(in * n, 15 + p->cell_bits);
        const int32_t cell = ek_clamp_s32(sum, p->cell_lo, p->cell_hi);
        const int32_t out = EK_FN_opened(gate[last + i], peep, cell, 2, i, p);
        const int32_t y = ek_requantize_tfl(out * ek_tanh_s16(cell, p->cell_bits), p->hidden_m, p->hidden_e);
        c[i] = (int16_t)cell;
        gate[last + i] = (int16_t)ek_clamp_s32(y + p->hidden_zero, -128, 127);
    }
}

/* The state from what the gates gave. */
EK_INLINE void EK_FN_state(const int16_t *EK_RESTRICT hidden, const int8_t *EK_RESTRICT proj,
    const int32_t *EK_RESTRICT q, int8_t *EK_RESTRICT h, const struct EK_STRUCT *p)
{
    for (int32_t o = 0; o < p->outputs; o++) {
        if (!p->projects) {
            h[o] = (int8_t)hidden[o];
            continue;
        }
        int32_t sum = q[o];
        for (int32_t i = 0; i < p->size; i++)
            sum += hidden[i] * proj[o * p->size + i];
        const int32_t y = ek_clamp_s32(ek_requantize_tfl(sum, p->p_m, p->p_e) + p->zero, -128, 127);
        h[o] = ek_clamp_s8(y, p->lo, p->hi);
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b,
    const int8_t *EK_RESTRICT r, const int32_t *EK_RESTRICT d, const int16_t *EK_RESTRICT peep,
    const int8_t *EK_RESTRICT proj, const int32_t *EK_RESTRICT q, const int8_t *EK_RESTRICT h0,
    const int16_t *EK_RESTRICT c0, int8_t *EK_RESTRICT y, int8_t *EK_RESTRICT h, int16_t *EK_RESTRICT c,
    int16_t *EK_RESTRICT gate, const struct EK_STRUCT *p)
{
    const int32_t size = p->size, outputs = p->outputs, last = (3 - p->first) * size;
    for (int32_t i = 0; i < p->batch * outputs; i++)
        h[i] = h0[i];
    for (int32_t i = 0; i < p->batch * size; i++)
        c[i] = c0[i];
    for (int32_t t = 0; t < p->steps; t++) {
        for (int32_t n = 0; n < p->batch; n++) {
            int8_t *const state = h + n * outputs;
            EK_FN_sums(x, w, b, r, d, state, gate, p);
            EK_FN_cells(gate, peep, c + n * size, p);
            EK_FN_state(gate + last, proj, q, state, p);
            for (int32_t o = 0; o < outputs; o++)
                *y++ = state[o];
            x += p->inputs;
        }
    }
}
