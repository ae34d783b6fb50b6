/* What weights of floats are stored as. */
#ifndef EDGEKIT_WEIGHT_KINDS_H
#define EDGEKIT_WEIGHT_KINDS_H

#include "edgekit/types.h"

#define EK_F32_KIND 0
#define EK_BF16_KIND 1
#define EK_F16_KIND 2
#define EK_S8_KIND 3
/* Rows of floats, no whole vectors: nothing behind them may be read; and floats that were bytes. */
#define EK_ROWS_KIND 4
#define EK_SCALED_KIND 5
/* Bytes that hold two weights. */
#define EK_S4_KIND 6

/* The bytes of a weight. */
EK_INLINE int32_t ek_weight_bytes(const int32_t kind)
{
    return kind == EK_S8_KIND ? 1 : kind == EK_BF16_KIND || kind == EK_F16_KIND ? 2 : 4;
}

/* Are sums multiplied by scales, in the place of what is added to others? */
EK_INLINE int32_t ek_is_scaled(const int32_t kind)
{
    return kind == EK_S8_KIND || kind == EK_SCALED_KIND;
}

#endif
