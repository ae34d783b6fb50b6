/* What states add to sums of gates with DSP instructions: four numbers of the state and of four rows at once. */
#ifndef EDGEKIT_GATES_DSP_H
#define EDGEKIT_GATES_DSP_H

#include "edgekit/gates.h"
#include "edgekit/pairs_dsp.h"

/* Four products more. */
static inline int32_t ek_four_products(const int8_t *r, struct ek_four h, int32_t sum)
{
    const struct ek_four four = ek_four_bytes(r, 0);
    __asm("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(four.even), "r"(h.even));
    __asm("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(four.odd), "r"(h.odd));
    return sum;
}

/* As ek_state_sums. */
static inline void ek_state_dsp_sums(
    const struct ek_gates *g, const int8_t *h, int32_t row, int32_t end, int32_t *sum)
{
    const int32_t size = g->size, left = end - row;
    const int8_t *r0 = g->r + row * size;
    const int8_t *r1 = left > 1 ? r0 + size : r0, *r2 = left > 2 ? r1 + size : r0;
    const int8_t *r3 = left > 3 ? r2 + size : r0;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, i = 0;
    for (; i + 4 <= size; i += 4) {
        const struct ek_four four = ek_four_bytes(h + i, 0);
        s0 = ek_four_products(r0 + i, four, s0);
        s1 = ek_four_products(r1 + i, four, s1);
        s2 = ek_four_products(r2 + i, four, s2);
        s3 = ek_four_products(r3 + i, four, s3);
    }
    for (; i < size; i++) {
        s0 += h[i] * r0[i];
        s1 += h[i] * r1[i];
        s2 += h[i] * r2[i];
        s3 += h[i] * r3[i];
    }
    const int32_t sums[4] = {s0, s1, s2, s3};
    ek_requantize_sums(g, sums, row, left, sum);
}

#endif
