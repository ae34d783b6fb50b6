/* Cells for sums of products on small Cortex-M: bytes without sign, which even a Cortex-M0+ loads in one instruction. They
 * are 128 more than in x, and so are weights: the difference is in the biases, and in the sum of the cells. */
#ifndef EDGEKIT_IM2COL_THUMB_H
#define EDGEKIT_IM2COL_THUMB_H

#include "edgekit/types.h"

/* Brings `count` numbers into `to`, 128 more each, and returns their sum. */
static inline uint32_t ek_copy_cells(uint8_t *to, const int8_t *from, int32_t count)
{
    uint32_t total = 0;
    for (int32_t i = 0; i < count; i++) {
        const uint32_t cell = (uint32_t)(from[i] + 128);
        to[i] = (uint8_t)cell;
        total += cell;
    }
    return total;
}

/* What is behind the cells, up to whole fours, counts for nothing. */
static inline void ek_end_cells(uint8_t *to, int32_t count)
{
    for (; count % 4 != 0; count++)
        to[count] = 0;
}

#endif
