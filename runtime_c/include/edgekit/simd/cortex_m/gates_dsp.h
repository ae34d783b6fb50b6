/* What states add to sums of gates with DSP instructions: four numbers of the state and of four rows at once. */
#ifndef EDGEKIT_GATES_DSP_H
#define EDGEKIT_GATES_DSP_H

#include "edgekit/loops/gates.h"
#include "edgekit/simd/cortex_m/elementwise_dsp.h"

#define EK_STATE_DSP_ROWS EK_STATE_ROWS

EK_INLINE const int8_t *ek_state_dsp_read(const int8_t *h, int16_t *room, const int32_t size)
{
    return ek_state_read(h, room, size);
}

/* As ek_state_sums. */
EK_INLINE void ek_state_dsp_sums(const struct ek_gates *g, const int8_t *h, const int32_t k,
    const int32_t first, const int32_t left, int32_t *sum)
{
    const int32_t size = g->size, row = k * size + first;
    const int32_t s = left > 1 ? size : 0; /* without a row of their own, sums repeat one */
    const int32_t t = left > 2 ? 2 * size : 0, u = left > 3 ? 3 * size : 0;
    const int8_t *r = g->r + row * size, *const end = h + size / 4 * 4;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (; h < end; h += 4, r += 4) {
        const struct ek_four four = ek_four_signed(h);
        s0 = ek_four_products(r, four, s0);
        s1 = ek_four_products(r + s, four, s1);
        s2 = ek_four_products(r + t, four, s2);
        s3 = ek_four_products(r + u, four, s3);
    }
    for (int32_t i = 0; i < size % 4; i++) {
        s0 += h[i] * r[i];
        s1 += h[i] * r[s + i];
        s2 += h[i] * r[t + i];
        s3 += h[i] * r[u + i];
    }
    const int32_t sums[4] = {s0, s1, s2, s3};
    ek_requantize_sums(g, sums, row, left, sum);
}

#define EK_STATE(name) ek_state_dsp_##name
#define EK_ONE(name) ek_one_##name
#define EK_ROWS EK_STATE_DSP_ROWS
#define EK_WIDTH EK_ONE_LANES
#include "edgekit/loops/gates_sums.h"
#undef EK_STATE
#undef EK_ONE
#undef EK_ROWS
#undef EK_WIDTH

#endif
