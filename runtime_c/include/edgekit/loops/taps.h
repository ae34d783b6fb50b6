/* Which taps of a window lie inside of an image, in one direction. */
#ifndef EDGEKIT_TAPS_H
#define EDGEKIT_TAPS_H

#include "edgekit/types.h"

/* The first and the last tap but one of a window of `taps` at `start` that are inside of `cells`. */
EK_INLINE int32_t ek_first_tap(const int32_t start, const int32_t dilation)
{
    return start < 0 ? (-start + dilation - 1) / dilation : 0;
}

EK_INLINE int32_t ek_end_tap(
    const int32_t start, const int32_t dilation, const int32_t taps, const int32_t cells)
{
    const int32_t end = (cells - start + dilation - 1) / dilation;
    return end < 0 ? 0 : end < taps ? end : taps;
}

#endif
