/* y[n][p][c] = the image x[n][..][c] at the position grid[n][p], interpolated between cells.
 * A position of -1 is the first cell of a dimension and 1 the last (align), or the outer edges of these cells;
 * the components of a position come last dimension first. */
#ifndef EDGEKIT_GRID_SAMPLE_H
#define EDGEKIT_GRID_SAMPLE_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t batch;
    int32_t size[3]; /* of the image, padded with 1 in front */
    int32_t channels;
    int32_t points;  /* positions in each image */
    int32_t spatial; /* dimensions that positions name: 1, 2 or 3 */
    int32_t taps;    /* cells a dimension: 1 nearest, 2 linear, 4 cubic */
    int32_t padding; /* what is outside: 0 zeros, 1 the border, 2 the reflection in it */
    int32_t align;
};

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_T_ACC *EK_RESTRICT grid, EK_T *EK_RESTRICT y,
    const struct EK_STRUCT *p);

#endif
