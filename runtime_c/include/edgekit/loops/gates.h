/* Gates of recurrent layers of integers. Sums are in units of 2^-12, saturated to +-32767; sigmoid and tanh are Q0.15, from a table of tanh at multiples of 1/32 up to 8.
 * Kernels take numbers in vectors (ek_one_...) and the sums of the state by rows (ek_state_...): here a vector is one
 * number, and sets of instructions have both under other names. */
#ifndef EDGEKIT_GATES_H
#define EDGEKIT_GATES_H

#include "edgekit/math/fixed.h"
#include "edgekit/types.h"

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

typedef int32_t ek_one_ints;
#define EK_ONE_LANES 1

EK_INLINE int32_t ek_one_load(const int32_t *p)
{
    return *p;
}
EK_INLINE int32_t ek_one_same(const int32_t x)
{
    return x;
}
EK_INLINE int32_t ek_one_add(const int32_t a, const int32_t b)
{
    return a + b;
}
EK_INLINE int32_t ek_one_times(const int32_t a, const int32_t b)
{
    return a * b;
}
/* a >> shift. */
EK_INLINE int32_t ek_one_shifted(const int32_t a, const int32_t shift)
{
    return a >> shift;
}
/* a, not below lo and not above hi. */
EK_INLINE int32_t ek_one_bounded(const int32_t a, const int32_t lo, const int32_t hi)
{
    return ek_clamp_s32(a, lo, hi);
}
EK_INLINE int32_t ek_one_magnitude(const int32_t a)
{
    return a < 0 ? -a : a;
}
/* -y where x is negative, else y. */
EK_INLINE int32_t ek_one_signed(const int32_t y, const int32_t x)
{
    return x < 0 ? -y : y;
}
/* What the table says of a / 2^bits, times 2^bits: on the line between two of its numbers. */
EK_INLINE int32_t ek_one_between(const int16_t *table, const int32_t a, const int32_t bits)
{
    const int32_t i = a >> bits, from = table[i];
    return from * (1 << bits) + (table[i + 1] - from) * (a & ((1 << bits) - 1));
}
/* `count` numbers, at most those of a vector. */
EK_INLINE int32_t ek_one_s8(const int8_t *p, const int32_t count)
{
    (void)count;
    return *p;
}
EK_INLINE int32_t ek_one_s16(const int16_t *p, const int32_t count)
{
    (void)count;
    return *p;
}
EK_INLINE void ek_one_store_s8(int8_t *p, const int32_t y, const int32_t count)
{
    (void)count;
    *p = (int8_t)y;
}
EK_INLINE void ek_one_store_s16(int16_t *p, const int32_t y, const int32_t count)
{
    (void)count;
    *p = (int16_t)y;
}

#define EK_ONE(name) ek_one_##name
#include "edgekit/loops/gates_lanes.h"

/* As many sums as kernels take at a time. */
#define EK_STATE_ROWS 4

/* The state as ek_state_sums reads it; others copy it to `room`. */
EK_INLINE const int8_t *ek_state_read(const int8_t *h, int16_t *room, const int32_t size)
{
    (void)room;
    (void)size;
    return h;
}

/* Products from `row` on, four or `left`, and their biases in units of sums. */
EK_INLINE void ek_requantize_sums(
    const struct ek_gates *g, const int32_t *from, const int32_t row, const int32_t left, int32_t *sum)
{
    for (int32_t k = 0; k < left && k < 4; k++)
        sum[k] = ek_requantize_e_wide(from[k] + g->b[row + k], g->m[row + k], g->shift);
}

/* What state h adds to sums of gate k from `first` on, to four or to `left`. Rows advance together, so that each number
 * of the state is read once for all of them. */
EK_INLINE void ek_state_sums(const struct ek_gates *g, const int8_t *h, const int32_t k, const int32_t first,
    const int32_t left, int32_t *sum)
{
    const int32_t size = g->size, row = k * size + first;
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

#define EK_STATE(name) ek_state_##name
#define EK_ROWS EK_STATE_ROWS
#define EK_WIDTH EK_ONE_LANES
#include "edgekit/loops/gates_sums.h"
#undef EK_STATE
#undef EK_ROWS
#undef EK_WIDTH
#undef EK_ONE

#endif
