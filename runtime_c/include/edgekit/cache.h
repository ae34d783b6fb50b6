/* Which rows of an attention cache (KV cache) a query sees. */
#ifndef EDGEKIT_CACHE_H
#define EDGEKIT_CACHE_H

#include "edgekit/types.h"

#define EK_CACHE_BLOCK 64 /* rows that share a largest score */

struct ek_cache_rows {
    int32_t first;
    int32_t seen; /* rows from there on, where row 0 follows the last one */
};

/* Those of positions 0 .. at, in rows 0 .. at; with a window, of the last ones of them, in rows position % rows (ring
 * buffer). Positions below 0, and without a window those behind the last row, are clamped. */
EK_INLINE struct ek_cache_rows ek_cache_rows_s32(const int32_t at, const int32_t rows, const int32_t window)
{
    const int32_t last = at < 0 ? 0 : at, most = window ? window : rows;
    struct ek_cache_rows found = {0, last < most ? last + 1 : most};
    if (window)
        found.first = (last - (found.seen - 1)) % rows;
    return found;
}

EK_INLINE struct ek_cache_rows ek_cache_rows_s64(const int64_t at, const int32_t rows, const int32_t window)
{
    return ek_cache_rows_s32(at < 0 ? 0 : at < INT32_MAX ? (int32_t)at : INT32_MAX, rows, window);
}

/* How many of them to take next: `most` at most, and none behind the last row of the cache. */
EK_INLINE int32_t ek_cache_block(const struct ek_cache_rows left, const int32_t rows, const int32_t most)
{
    const int32_t few = left.seen < most ? left.seen : most;
    return few < rows - left.first ? few : rows - left.first;
}

/* Those that are left behind a block. */
EK_INLINE struct ek_cache_rows ek_cache_behind(
    const struct ek_cache_rows left, const int32_t count, const int32_t rows)
{
    struct ek_cache_rows behind = {left.first + count, left.seen - count};
    behind.first = behind.first < rows ? behind.first : 0;
    return behind;
}

#endif
