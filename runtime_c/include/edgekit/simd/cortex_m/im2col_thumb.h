/* Cells for sums of products on small Cortex-M: bytes without sign, which even a Cortex-M0+ loads in one instruction. They
 * are 128 more than in x, and so are weights: the difference is in the biases, and in the sum of the cells. */
#ifndef EDGEKIT_IM2COL_THUMB_H
#define EDGEKIT_IM2COL_THUMB_H

#include "edgekit/types.h"

/* Brings a number into `to`, 128 more, and to the sum. */
#define EK_COPY_CELL(at)                                                                                     \
    cell = (uint8_t)from[at] ^ 128u;                                                                         \
    to[at] = (uint8_t)cell;                                                                                  \
    total += cell;

/* Brings `count` numbers into `to`, 128 more each, and returns their sum. */
static EK_SHARED uint32_t ek_copy_cells(uint8_t *to, const int8_t *from, int32_t count)
{
    uint32_t total = 0, cell;
    for (; count >= 4; count -= 4, from += 4, to += 4) {
        EK_COPY_CELL(0)
        EK_COPY_CELL(1)
        EK_COPY_CELL(2)
        EK_COPY_CELL(3)
        __asm("" : "+r"(to)); /* four are enough */
    }
    for (; count > 0; count--, from++, to++) {
        EK_COPY_CELL(0)
        __asm("" : "+r"(to)); /* else compilers unroll up to three turns by eight */
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
