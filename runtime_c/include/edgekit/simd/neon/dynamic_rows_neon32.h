/* Rows that were quantized in this run, by NEON of ARMv7 without dot products. */
#ifndef EDGEKIT_DYNAMIC_ROWS_NEON32_H
#define EDGEKIT_DYNAMIC_ROWS_NEON32_H

#include "edgekit/simd/neon/f32_neon32.h"

/* How many rows share the loads of weights: two have more sums than there are registers. */
#define EK_DR_ROWS(kind) 1

#include "edgekit/simd/neon/dynamic_pairs_neon.h"

#endif
