/* Gates of recurrent layers of integers: the twin of edgekit/fixed_gates.py. Sums are in units of 2^-12, saturated to
 * +-32767; sigmoid and tanh are Q0.15, from a table of tanh at multiples of 1/32 up to 8. */
#ifndef EDGEKIT_GATES_H
#define EDGEKIT_GATES_H

#include "edgekit/fixed.h"

/* How gates come by their sums. */
struct ek_gates {
    const int8_t *r; /* weights of the state, a row for each sum */
    const int32_t *b; /* biases, which hold the zero point of the state */
    const int32_t *m; /* multipliers of rule E */
    int32_t size; /* of the state */
    int32_t shift;
    int32_t x_m; /* multiplier and shift of what the input adds */
    int32_t x_shift;
};

/* y as a gate takes it. */
static inline int32_t ek_saturate_sum(int32_t y)
{
    return ek_clamp_s32(y, -32767, 32767);
}

/* What state h adds to sum `row`. */
static inline int32_t ek_state_sum(const struct ek_gates *g, const int8_t *h, int32_t row)
{
    const int8_t *const r = g->r + row * g->size;
    int32_t sum = g->b[row];
    for (int32_t i = 0; i < g->size; i++)
        sum += r[i] * h[i];
    return ek_requantize_e_wide(sum, g->m[row], g->shift);
}

/* What x of the input adds to a sum. */
static inline int32_t ek_input_sum(const struct ek_gates *g, int32_t x)
{
    return ek_requantize_e_wide(x, g->x_m, g->x_shift);
}

/* The sums [first, end) from the input x and state h. */
static inline void ek_gate_sums(
    const struct ek_gates *g, const int16_t *x, const int8_t *h, int16_t *sum, int32_t first, int32_t end)
{
    for (int32_t o = first; o < end; o++)
        sum[o] = (int16_t)ek_saturate_sum(ek_input_sum(g, x[o]) + ek_state_sum(g, h, o));
}

/* tanh of a sum. */
static inline int32_t ek_tanh_of_sum(int32_t x, const int16_t *table)
{
    const int32_t a = x < 0 ? -x : x, i = a >> 7;
    const int32_t y = table[i] + (((table[i + 1] - table[i]) * (a & 127) + 64) >> 7);
    return x < 0 ? -y : y;
}

/* (1 + tanh(x / 2)) / 2 of a sum. */
static inline int32_t ek_sigmoid_of_sum(int32_t x, const int16_t *table)
{
    const int32_t a = x < 0 ? -x : x, i = a >> 8;
    const int32_t half = (table[i] * 256 + (table[i + 1] - table[i]) * (a & 255) + 256) >> 9;
    return (1 << 14) + (x < 0 ? -half : half);
}

/* A number of 16 bits, so many of them before the point, as a sum. */
static inline int32_t ek_as_sum(int32_t c, int32_t bits)
{
    return ek_saturate_sum(bits >= 3 ? c * (1 << (bits - 3)) : (c + (1 << (2 - bits))) >> (3 - bits));
}

#endif
