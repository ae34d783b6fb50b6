/* Sums of gates by SDOT; numbers are those of gates_neon.h. */
#ifndef EDGEKIT_GATES_DOT_NEON_H
#define EDGEKIT_GATES_DOT_NEON_H

#include "edgekit/simd/neon/dot_s8_neon.h"
#include "edgekit/simd/neon/gates_neon.h"

#define EK_DOT_ROWS 16

/* The state is read as it lies. */
static inline const int8_t *ek_dot_read(const int8_t *h, int16_t *room, const int32_t size)
{
    return ek_state_read(h, room, size);
}

#define EK_ONE(name) ek_neon_##name
#define EK_DOT(name) ek_dot_##name
#define EK_STATE(name) ek_dot_##name
#define EK_CELLS EK_DOT_CELLS
#define EK_ROWS EK_DOT_ROWS
#define EK_WIDTH EK_NEON_LANES
#include "edgekit/simd/neon/gates_rows_neon.h"
/* Which the loops of all sets call: */
#include "edgekit/loops/gates_sums.h"
#undef EK_ONE
#undef EK_DOT
#undef EK_STATE
#undef EK_CELLS
#undef EK_ROWS
#undef EK_WIDTH

#endif
