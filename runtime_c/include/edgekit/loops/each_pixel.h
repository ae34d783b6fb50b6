/* Tiles of pixels whose sums are no array: vectors of RISC-V cannot be elements of one. */
#ifndef EDGEKIT_EACH_PIXEL_H
#define EDGEKIT_EACH_PIXEL_H

#include "edgekit/types.h"

/* text(k, s) of the sums of each pixel. */
#define EK_EACH_PIXEL(text)                                                                                  \
    text(0, s0) text(1, s1) text(2, s2) text(3, s3) text(4, s4) text(5, s5) text(6, s6) text(7, s7)          \
        text(8, s8) text(9, s9) text(10, s10) text(11, s11)

/* How many of n pixels a tile has, at most `most`: tiles are of about the same width, and the last one is of what is left.
 * Where code is to be small they have the most, and what is left is computed one by one. */
EK_INLINE int32_t ek_tile_pixels(const int32_t n, const int32_t most)
{
    const int32_t tiles = (n + most - 1) / most;
    return EK_IS_COMPACT ? most : (n + tiles - 1) / tiles;
}

#endif
