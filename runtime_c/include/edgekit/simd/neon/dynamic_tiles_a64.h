/* Tiles of rows that were quantized in this run, on 64-bit ARM: what SDOT and SMMLA have in common. */
#ifndef EDGEKIT_DYNAMIC_TILES_A64_H
#define EDGEKIT_DYNAMIC_TILES_A64_H

#include "edgekit/simd/neon/dynamic_ints_neon.h"
#include "edgekit/simd/neon/f32_neon.h"

/* How many rows share the loads of weights. */
#define EK_DR_ROWS(kind) 4
/* Of outputs, in a block: sums of four rows and what they add to stay in registers. Weights of 8 bits lie in larger
 * blocks: groups of them are long. */
#define EK_DR_VECTORS(kind) ((kind) == EK_S4_KIND ? 2 : 4)

/* For each eight inputs. Groups of weights of 4 bits are short: compilers unroll them as a whole, and better without being
 * told. */
#define EK_DR_EIGHTS(count, kind, ...)                                                                       \
    if ((kind) == EK_S4_KIND)                                                                                \
        for (int32_t i = 0; i < (count); i += 8)                                                             \
            __VA_ARGS__;                                                                                     \
    else                                                                                                     \
        EK_UNROLLED_FOR(4, int32_t i = 0; i < (count); i += 8)                                               \
            __VA_ARGS__;
#define EK_DR_BYTES(kind) ((kind) == EK_S4_KIND ? 4 : 16) /* of an input, of all outputs of a block */

/* Tiles of four rows, eight inputs of each in turn; rows that are left stay where they are. */
#define EK_DR_TILES(x, room, rows, inputs) ek_dr_tiles(x, (int8_t *)(room), rows, inputs)
#define EK_DR_INPUT(at, rows) ((rows) == 1 ? (at) : 4 * (at))

/* Numbers of groups lie in the same way: those of the four rows of a tile side by side. */
#define EK_DR_PLACE(r, rows, groups)                                                                         \
    ((r) < (rows) / 4 * 4 ? (r) / 4 * 4 * (groups) + (r) % 4 : (r) * (groups))
#define EK_DR_STEP(r, rows) ((r) < (rows) / 4 * 4 ? 4 : 1)

EK_INLINE const int8_t *ek_dr_tiles(const int8_t *x, int8_t *room, const int32_t rows, const int32_t inputs)
{
    int8_t *to = room;
    for (int32_t r = 0; r + 4 <= rows; r += 4)
        for (int32_t i = 0; i < inputs; i += 8)
            for (int32_t k = 0; k < 4; k++, to += 8)
                vst1_s8(to, vld1_s8(x + (r + k) * inputs + i));
    return room;
}

#endif
