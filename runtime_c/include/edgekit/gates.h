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
    int32_t x_m; /* multiplier and shift of what the input adds, of 16 bits */
    int32_t x_shift;
};

/* A number of 16 bits times m / 2^shift, m < 2^15, 1 <= shift <= 30. */
static inline int32_t ek_scale_s16(int32_t x, int32_t m, int32_t shift)
{
    return (x * m + (1 << (shift - 1))) >> shift;
}

/* y as a gate takes it. */
static inline int32_t ek_saturate_sum(int32_t y)
{
    return ek_clamp_s32(y, -32767, 32767);
}

/* Products from `row` on, four or `left`, and their biases in units of sums. */
static inline void ek_requantize_sums(
    const struct ek_gates *g, const int32_t *from, int32_t row, int32_t left, int32_t *sum)
{
    for (int32_t k = 0; k < left && k < 4; k++)
        sum[k] = ek_requantize_e_wide(from[k] + g->b[row + k], g->m[row + k], g->shift);
}

/* What state h adds to the sums from `row` on: four, or fewer before `end`. Rows advance together, so that each number
 * of the state is read once for all of them. */
static inline void ek_state_sums(
    const struct ek_gates *g, const int8_t *h, int32_t row, int32_t end, int32_t *sum)
{
    const int32_t size = g->size, left = end - row;
    const int8_t *const r0 = g->r + row * size; /* without a row of their own, sums repeat one */
    const int8_t *const r1 = left > 1 ? r0 + size : r0, *const r2 = left > 2 ? r1 + size : r0;
    const int8_t *const r3 = left > 3 ? r2 + size : r0;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int32_t i = 0; i < size; i++) {
        const int32_t v = h[i];
        s0 += v * r0[i];
        s1 += v * r1[i];
        s2 += v * r2[i];
        s3 += v * r3[i];
    }
    const int32_t sums[4] = {s0, s1, s2, s3};
    ek_requantize_sums(g, sums, row, left, sum);
}

/* What x of the input adds to a sum. */
static inline int32_t ek_input_sum(const struct ek_gates *g, int32_t x)
{
    return ek_scale_s16(x, g->x_m, g->x_shift);
}

/* The sums from `row` on, four or fewer before `end`, of what the state adds to them and of the input x. */
static inline void ek_add_inputs(
    const struct ek_gates *g, const int16_t *x, const int32_t *more, int16_t *sum, int32_t row, int32_t end)
{
    for (int32_t o = row; o < row + 4 && o < end; o++)
        sum[o] = (int16_t)ek_saturate_sum(ek_input_sum(g, x[o]) + more[o - row]);
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
