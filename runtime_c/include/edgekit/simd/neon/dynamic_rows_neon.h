/* Rows that were quantized in this run, by NEON of 64-bit ARM without dot products. */
#ifndef EDGEKIT_DYNAMIC_ROWS_NEON_H
#define EDGEKIT_DYNAMIC_ROWS_NEON_H

#include "edgekit/simd/neon/f32_neon.h"

/* How many rows share the loads of weights. */
#define EK_DR_ROWS(kind) 2

#include "edgekit/simd/neon/dynamic_pairs_neon.h"

#endif
