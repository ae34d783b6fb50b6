/* An input that arrives row by row: a ring of its rows, and the iterations of a loop that a row allows. */
#ifndef EDGEKIT_ROW_INPUT_H
#define EDGEKIT_ROW_INPUT_H

#include "edgekit/types.h"

/* How a loop over rows reads an input: block by block of rows, of which the first one may be shorter. */
struct ek_row_input {
    int32_t height; /* rows of the input */
    int32_t rows;   /* of a block */
    int32_t start;  /* the row with which the first block would begin were it not shorter; 0 or less */
    int32_t every;  /* iterations for each block */
    int32_t iterations;
    int32_t row;  /* bytes */
    int32_t kept; /* bytes of the ring in front of the newest block */
};

struct ek_iterations {
    int32_t begin;
    int32_t end;
};

/* Sixteen bytes at a time, where both addresses are those of words. */
EK_INLINE void ek_copy_row(uint8_t *to, const uint8_t *from, int32_t bytes)
{
    int32_t i = 0;
#if defined(__GNUC__)
    if (((uintptr_t)to | (uintptr_t)from) % 4 == 0)
        for (uint32_t words[4]; i + 16 <= bytes; i += 16) {
            __builtin_memcpy(words, __builtin_assume_aligned(from + i, 4), 16);
            __builtin_memcpy(__builtin_assume_aligned(to + i, 4), words, 16);
        }
#endif
    for (; i < bytes; i++)
        to[i] = from[i];
}

/* Copies a row to its place in the ring, and counts it; behind the last one from 0 again. A block of rows allows
 * the iterations until the next block is wanted, and the last row all that are left. */
EK_INLINE struct ek_iterations ek_row_arrives(
    const void *row, void *ring, int32_t *so_far, const struct ek_row_input *p)
{
    const int32_t at = *so_far - p->start, block = at / p->rows, place = at - block * p->rows;
    struct ek_iterations due = {0, 0};
    ek_copy_row((uint8_t *)ring + p->kept + place * p->row, (const uint8_t *)row, p->row);
    *so_far = *so_far + 1 < p->height ? *so_far + 1 : 0;
    if (place + 1 == p->rows || *so_far == 0) {
        due.begin = block * p->every;
        due.end = *so_far == 0 ? p->iterations : due.begin + p->every;
    }
    return due;
}

#endif
