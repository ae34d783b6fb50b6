/* Blocks of rows: what layers need that are computed block by block, with ring buffers in between. */
#ifndef EDGEKIT_ROW_BLOCKS_H
#define EDGEKIT_ROW_BLOCKS_H

#include "edgekit/types.h"

/* The rows of a block that a result has, and those of an image that windows over them read. */
struct ek_rows {
    int32_t first; /* of the result */
    int32_t count;
    int32_t top; /* the first row that is read */
    int32_t read; /* how many */
    int32_t pad; /* rows of the first window that lie above the image */
};

/* How windows slide from row to row. */
struct ek_row_window {
    int32_t stride;
    int32_t rows; /* that one window spans */
    int32_t pad; /* rows above the image */
    int32_t height; /* of the image */
};

/* Rows from row on, at most so many, of a result of this height. */
EK_INLINE struct ek_rows ek_block(int32_t row, int32_t rows, int32_t height, struct ek_row_window window)
{
    struct ek_rows block;
    const int32_t end = row + rows < height ? row + rows : height;
    int32_t bottom;
    block.first = row > 0 ? row : 0;
    block.count = end - block.first;
    block.top = block.first * window.stride - window.pad;
    block.pad = block.top < 0 ? -block.top : 0;
    block.top += block.pad;
    bottom = (end - 1) * window.stride - window.pad + window.rows;
    block.read = (bottom < window.height ? bottom : window.height) - block.top;
    return block;
}

/* Moves the last bytes of a ring of rows, behind those that are dropped, to its start. */
EK_INLINE void ek_keep_rows(void *ring, int32_t kept, int32_t dropped)
{
    uint8_t *to = (uint8_t *)ring;
    const uint8_t *from = to + dropped;
#if defined(__GNUC__)
    if (kept % 4 == 0 && dropped % 4 == 0) { /* rings start at words */
        uint32_t words[4];
        to = (uint8_t *)__builtin_assume_aligned(to, 4);
        from = (const uint8_t *)__builtin_assume_aligned(from, 4);
        for (; kept >= 16; kept -= 16, from += 16, to += 16) {
            __builtin_memcpy(words, from, 16);
            __builtin_memcpy(to, words, 16);
        }
        for (; kept > 0; kept -= 4, from += 4, to += 4) {
            __builtin_memcpy(words, from, 4);
            __builtin_memcpy(to, words, 4);
        }
    }
#endif
    for (; kept > 0; kept--)
        *to++ = *from++;
}

#endif
