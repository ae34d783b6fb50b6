/* Long short-term memory of integers. */
#include "edgekit/contracts/lstm_s8.h"

#include "edgekit/math/fixed16.h"
#include "edgekit/math/inverse_sqrt.h"

/* Modulo 2^32: a damaged file may have biases that leave no room. */
EK_INLINE int32_t EK_FN_dot(
    const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, const int32_t bias, const int32_t n)
{
    uint32_t sum = (uint32_t)bias;
    for (int32_t i = 0; i < n; i++)
        sum += (uint32_t)(a[i] * b[i]);
    return (int32_t)sum;
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

/* What the cells add to the sums of a gate through peephole k. */
EK_INLINE void EK_FN_peep(int16_t *EK_RESTRICT gate, const int16_t *EK_RESTRICT peep,
    const int16_t *EK_RESTRICT c, const int32_t k, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->size; i++) {
        const int32_t more = ek_requantize_tfl(peep[k * p->size + i] * c[i], p->c_m[k], p->c_e[k]);
        gate[i] = (int16_t)ek_saturate_s16(more + gate[i]);
    }
}

/* The sums of gate k, less their mean and over their standard deviation, which is in units of 2^-10. */
EK_INLINE void EK_FN_normalize(int16_t *EK_RESTRICT gate, const int16_t *EK_RESTRICT norm,
    const int32_t *EK_RESTRICT add, const int32_t k, const struct EK_STRUCT *p)
{
    int64_t sum = 0, squares = 0;
    for (int32_t i = 0; i < p->size; i++) {
        sum += gate[i];
        squares += gate[i] * gate[i];
    }
    const int32_t mean = (int32_t)(sum * 1024 / p->size);
    const int32_t found = (int32_t)((squares * ((1 << 20) / p->size) - (int64_t)mean * mean) / (1 << 20));
    const int32_t variance = found < 1 ? p->guard[k] : found;
    const int32_t m = ek_inverse_sqrt(variance), e = ek_inverse_sqrt_exponent(variance);
    for (int32_t i = 0; i < p->size; i++) {
        const int64_t y = (int64_t)ek_requantize_tfl(1024 * gate[i] - mean, m, e) * norm[i] + add[i];
        const int32_t whole = (int32_t)((y > 0 ? y + 512 : y - 512) / 1024);
        gate[i] = (int16_t)ek_saturate_s16(ek_requantize_tfl(whole, p->n_m[k], p->n_e[k]));
    }
}

/* One step of one sequence from the sums of its gates: the cells, and what is projected or the state, in the place
 * of the last gate. */
EK_INLINE void EK_FN_cells(int16_t *EK_RESTRICT gate, const int16_t *EK_RESTRICT peep,
    const int16_t *EK_RESTRICT norm, const int32_t *EK_RESTRICT add, int16_t *EK_RESTRICT c,
    const struct EK_STRUCT *p)
{
    const int32_t size = p->size, gates = 4 - p->first;
    int16_t *const f = gate + (gates - 3) * size, *const n = f + size, *const o = n + size;
    if (p->peepholes && !p->first)
        EK_FN_peep(gate, peep, c, 0, p);
    if (p->peepholes)
        EK_FN_peep(f, peep, c, 1, p);
    for (int32_t k = 0; p->normalizes && k < gates - 1; k++)
        EK_FN_normalize(gate + k * size, norm + k * size, add + k * size, p->first + k, p);
    for (int32_t i = 0; i < size; i++) {
        const int32_t keep = ek_logistic_s16(f[i]);
        const int32_t in = p->first ? 32767 - keep : ek_logistic_s16(gate[i]);
        const int32_t more = ek_shift_away(in * ek_tanh_s16(n[i], 3), 15 + p->cell_bits);
        c[i] = (int16_t)ek_clamp_s32(ek_shift_away(keep * c[i], 15) + more, p->cell_lo, p->cell_hi);
    }
    if (p->peepholes)
        EK_FN_peep(o, peep, c, 2, p);
    if (p->normalizes)
        EK_FN_normalize(o, norm + (gates - 1) * size, add + (gates - 1) * size, 3, p);
    for (int32_t i = 0; i < size; i++) {
        const int32_t y = ek_logistic_s16(o[i]) * ek_tanh_s16(c[i], p->cell_bits);
        const int32_t hidden = ek_requantize_tfl(y, p->hidden_m, p->hidden_e) + p->hidden_zero;
        o[i] = (int16_t)ek_clamp_s32(hidden, -128, 127);
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
        uint32_t sum = (uint32_t)q[o];
        for (int32_t i = 0; i < p->size; i++)
            sum += (uint32_t)(hidden[i] * proj[o * p->size + i]);
        h[o] = ek_clamp_s8(ek_requantize_tfl((int32_t)sum, p->p_m, p->p_e) + p->zero, p->lo, p->hi);
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b,
    const int8_t *EK_RESTRICT r, const int32_t *EK_RESTRICT d, const int16_t *EK_RESTRICT peep,
    const int16_t *EK_RESTRICT norm, const int32_t *EK_RESTRICT add, const int8_t *EK_RESTRICT proj,
    const int32_t *EK_RESTRICT q, const int8_t *EK_RESTRICT h0, const int16_t *EK_RESTRICT c0,
    int8_t *EK_RESTRICT y, int8_t *EK_RESTRICT h, int16_t *EK_RESTRICT c, int16_t *EK_RESTRICT gate,
    const struct EK_STRUCT *p)
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
            EK_FN_cells(gate, peep, norm, add, c + n * size, p);
            EK_FN_state(gate + last, proj, q, state, p);
            for (int32_t o = 0; o < outputs; o++)
                *y++ = state[o];
            x += p->inputs;
        }
    }
}
