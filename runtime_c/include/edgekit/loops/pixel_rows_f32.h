/* Sums of products of floats: lines of pixels that are the same distance apart. The sums of a block of pixels stay in
 * registers. Vectors are those of the instruction set, whose header comes before this file.
 * Weights are in parts of EK_VF_PART outputs, the last one narrower, whole vectors each; a part has the numbers of a
 * tap side by side. */
#ifndef EDGEKIT_PIXEL_ROWS_F32_H
#define EDGEKIT_PIXEL_ROWS_F32_H

#include "edgekit/loops/weight_kinds.h"

/* What an instruction set may say otherwise: a load brings one cell, not several for products by a lane of them; loops are
 * over one cell, where they could be over several that are side by side; where sums are few, each is split in four. */
#ifndef EK_VF_CELLS
#define EK_VF_CELLS 1
#define ek_vf_fma_lane(a, b, k, c) ek_vf_fma(a, b, c)
#endif
#ifndef EK_VF_TAPS
#define EK_VF_TAPS(pixels) 1
#endif
#ifndef EK_VF_SPLIT
#define EK_VF_SPLIT 4
#endif

#define EK_VF_PART (EK_VF_LANES * EK_VF_BLOCKS)

/* The pixels of a tile, and the most parts that a sum is split in. Few pixels have all of their outputs before the next,
 * or where code is to be small: then there are tiles of so many, and of one. */
#if EK_VF_TOGETHER < 4
#define EK_VF_TILE EK_VF_TOGETHER
#elif EK_VF_TOGETHER == 4 || defined(__OPTIMIZE_SIZE__)
#define EK_VF_TILE 4
#else
#define EK_VF_TILE 16
#endif
#ifdef __OPTIMIZE_SIZE__
#define EK_VF_SUMS 1
#else
#define EK_VF_SUMS EK_VF_SPLIT
#endif

/* What is added to a result `at` elements on; scales are the same for all pixels. */
EK_INLINE const float *ek_addend_f32(const float *r, const int32_t at, const int32_t kind)
{
    return r && !ek_is_scaled(kind) ? r + at : r;
}

/* A window: `rows` times `columns` runs of x, `depth` elements each. */
struct ek_window_f32 {
    int32_t rows;
    int32_t columns;
    int32_t depth;
    int32_t row_step; /* elements of x */
    int32_t column_step;
    int32_t depth_step;
    int32_t row_taps; /* elements of runs that weights of a row are for; runs of a row follow one another */
    int32_t tap_weights; /* elements of w from one element of a run to the next */
    int32_t block_weights; /* ... from one vector of outputs to the next */
    int32_t first; /* the first output that is computed: b, r and y begin before it */
    int32_t outputs; /* how many: at most EK_VF_PART, or three vectors */
    int32_t kind;
    float lo;
    float hi;
};

/* How many lanes of a block hold outputs. */
EK_INLINED int32_t ek_lanes_f32(const int32_t block, const int32_t blocks, const int32_t outputs)
{
    return block + 1 < blocks ? EK_VF_LANES : outputs - EK_VF_LANES * (blocks - 1);
}

/* Fetches the weights of a later tap, where all together are too many for the first cache. */
EK_INLINED void ek_fetch_f32(const uint8_t *w, const int32_t blocks, const struct ek_window_f32 *s)
{
    const int32_t bytes = ek_weight_bytes(s->kind), size = blocks * EK_VF_LANES * bytes;
    if (s->depth * s->tap_weights * bytes > 16384)
        EK_UNROLLED_FOR(4, int32_t k = 0; k < size; k += 64)
            ek_vf_fetch(w + 16 * s->tap_weights * bytes + k);
}

/* The weights of a tap for one of the blocks. */
EK_INLINED ek_vf ek_tap_weights_f32(
    const uint8_t *w, const int32_t block, const int32_t blocks, const struct ek_window_f32 *s)
{
    const int32_t step = s->block_weights;
    if (s->kind == EK_ROWS_KIND)
        return ek_vf_load(
            (const float *)(const void *)w + block * step, ek_lanes_f32(block, blocks, s->outputs));
    if (block == blocks - 1 && block % 2 == 0)
        return ek_vf_weights(w, block * step, s->kind);
    return ek_vf_weights_of_two(w, block / 2 * 2 * step, step, block % 2, s->kind);
}

/* Adds the products of `taps` elements of each of `pixels` runs: of as many as a load brings or more, which lie side by
 * side, or of fewer. */
EK_INLINED void ek_taps_f32(ek_vf sum[EK_VF_TILE][4], const float *x, const uint8_t *w, const int32_t x_step,
    const int32_t taps, const int32_t pixels, const int32_t blocks, const struct ek_window_f32 *s)
{
    const int32_t loads = EK_VF_CELLS > 1 ? taps / EK_VF_CELLS : 0;
    ek_vf v[4], cells[EK_VF_TILE][2];
    EK_VF_HIDE(x); /* or gcc keeps what windows share in memory, vector by vector */
    EK_UNROLLED_FOR(16, int32_t q = 0; q < pixels; q++)
        EK_UNROLLED_FOR(2, int32_t k = 0; k < loads; k++)
            cells[q][k] = ek_vf_load(x + q * x_step + k * EK_VF_CELLS, EK_VF_CELLS);
    EK_UNROLLED_FOR(8, int32_t k = 0; k < taps; k++, w += s->tap_weights * ek_weight_bytes(s->kind)) {
        EK_UNROLLED_FOR(4, int32_t o = 0; o < 4; o++)
            v[o] = o < blocks ? ek_tap_weights_f32(w, o, blocks, s) : ek_vf_set(0);
        if (pixels > 1)
            ek_fetch_f32(w, blocks, s);
        EK_UNROLLED_FOR(16, int32_t q = 0; q < pixels; q++) {
            const ek_vf t = loads ? cells[q][k / EK_VF_CELLS] : ek_vf_set(x[q * x_step + k * s->depth_step]);
            EK_UNROLLED_FOR(4, int32_t o = 0; o < blocks; o++)
                sum[q][o] = loads ? ek_vf_fma_lane(v[o], t, k % EK_VF_CELLS, sum[q][o])
                                  : ek_vf_fma(t, v[o], sum[q][o]);
        }
    }
}

/* gcc loses sight of which sums have a start where pixels and blocks are no constants. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

/* `pixels` times `blocks` sums, all in registers; they start from 0 without b. Where r is not null it is added, and lies
 * as y does; with weights of bytes it is a factor for each output. Where sums are few, each is split in parts, as
 * additions wait for each other. */
EK_INLINED void ek_tile_f32(const float *x, const uint8_t *w, const float *b, const float *r, float *y,
    const int32_t x_step, const int32_t y_step, const int32_t pixels, const int32_t blocks,
    const struct ek_window_f32 *s)
{
    ek_vf sum[EK_VF_SUMS][EK_VF_TILE][4];
    const int32_t is_bound = EK_IS_COMPACT || s->lo > -EK_INF_f32 || s->hi < EK_INF_f32;
    const int32_t sums = pixels * blocks, parts = EK_VF_SUMS == 1 || sums > 4 ? 1 : sums > 2 ? 2 : 4;
    const int32_t bytes = s->tap_weights * ek_weight_bytes(s->kind);
    const int32_t row_bytes = s->row_taps * s->tap_weights * ek_weight_bytes(s->kind);
    EK_VF_HIDE(y);
    EK_UNROLLED_FOR(4, int32_t o = 0; o < blocks; o++) {
        const ek_vf bias = b ? ek_vf_load(b + s->first + EK_VF_LANES * o, ek_lanes_f32(o, blocks, s->outputs))
                             : ek_vf_set(0);
        EK_UNROLLED_FOR(16, int32_t q = 0; q < pixels; q++) {
            sum[0][q][o] = bias;
            EK_UNROLLED_FOR(4, int32_t k = 1; k < EK_VF_SUMS; k++)
                sum[k][q][o] = ek_vf_set(0);
        }
    }
    for (int32_t i = 0; i < s->rows; i++) {
        const uint8_t *weights = w + i * row_bytes;
        for (int32_t j = 0; j < s->columns; j++) {
            const float *from = x + i * s->row_step + j * s->column_step;
            int32_t left = s->depth;
            EK_VF_HIDE(from);
            EK_VF_HIDE(weights);
#define EK_VF_TURNS(taps)                                                                                    \
    for (; left >= (taps); left -= (taps), from += (taps) * s->depth_step, weights += (taps) * bytes)        \
        ek_taps_f32(sum[0], from, weights, x_step, (taps), pixels, blocks, s);
            if (!EK_IS_COMPACT && EK_VF_TAPS(pixels) > EK_VF_CELLS && s->depth_step == 1)
                EK_VF_TURNS(EK_VF_TAPS(pixels))
            if (EK_VF_CELLS > 1 && s->depth_step == 1)
                EK_VF_TURNS(EK_VF_CELLS)
            for (; parts > 1 && left >= parts;
                left -= parts, from += parts * s->depth_step, weights += parts * bytes)
                EK_UNROLLED_FOR(4, int32_t k = 0; k < parts; k++)
                    ek_taps_f32(
                        sum[k], from + k * s->depth_step, weights + k * bytes, x_step, 1, pixels, blocks, s);
            EK_VF_TURNS(1)
#undef EK_VF_TURNS
        }
    }
    EK_UNROLLED_FOR(16, int32_t q = 0; q < pixels; q++)
        EK_UNROLLED_FOR(4, int32_t o = 0; o < blocks; o++) {
            ek_vf total = sum[0][q][o];
            if (parts >= 2)
                total = ek_vf_add(total, sum[EK_VF_SUMS > 1][q][o]);
            if (parts == 4)
                total = ek_vf_add(total, ek_vf_add(sum[EK_VF_SUMS / 2][q][o], sum[EK_VF_SUMS - 1][q][o]));
            const int32_t at = s->first + q * y_step + EK_VF_LANES * o,
                          lanes = ek_lanes_f32(o, blocks, s->outputs);
            if (r && ek_is_scaled(s->kind))
                total = ek_vf_mul(total, ek_vf_load(r + s->first + EK_VF_LANES * o, lanes));
            else if (r)
                total = ek_vf_add(total, ek_vf_load(r + at, lanes));
            ek_vf_store(y + at, lanes, is_bound ? ek_vf_clamp(total, s->lo, s->hi) : total);
        }
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/* Fewer than eight sums take as long as eight, as additions wait for each other. */
EK_INLINE int32_t ek_tile_time_f32(const int32_t pixels, const int32_t blocks)
{
    return (pixels * blocks < 8 ? 8 : pixels * blocks) + 1;
}

/* How many tiles of a line have one pixel less than the others, so that none overlap. */
EK_INLINE int32_t ek_narrow_tiles_f32(const int32_t length, const int32_t pixels, const int32_t blocks)
{
    const int32_t tiles = (length + pixels - 1) / pixels, over = tiles * pixels - length;
    return (pixels == 5 || pixels == 6) && blocks > 1 && over <= tiles ? over : 0;
}

/* How many pixels the tiles of a line have that are not narrow: what takes the least time. Without narrow ones the last
 * one may overlap. */
EK_INLINE int32_t ek_tile_pixels_f32(const int32_t length, const int32_t blocks)
{
    int32_t best = 2, least = INT32_MAX;
    EK_UNROLLED_FOR(16, int32_t n = 16; n > 1; n--) {
        const int32_t tiles = (length + n - 1) / n, narrow = ek_narrow_tiles_f32(length, n, blocks);
        const int32_t time =
            (tiles - narrow) * ek_tile_time_f32(n, blocks) + narrow * ek_tile_time_f32(n - 1, blocks);
        if (n <= EK_VF_PIXELS(blocks) && n <= length && n != 11 && (n == 16 || n < 13) && time < least) {
            best = n;
            least = time;
        }
    }
    return best;
}

/* A line of `length` pixels, `blocks` known to the compiler. */
EK_INLINED void ek_row_of_tiles_f32(const float *x, const uint8_t *w, const float *b, const float *r,
    float *y, const int32_t x_step, const int32_t y_step, const int32_t length, const int32_t blocks,
    const struct ek_window_f32 *s)
{
#define EK_VF_TILES(n, first, end)                                                                           \
    for (int32_t k = (first); k < (end); k += (n)) {                                                         \
        const int32_t at = k + (n) <= (end) ? k : (end) - (n);                                               \
        ek_tile_f32(x + at * x_step, w, b, ek_addend_f32(r, at * y_step, s->kind), y + at * y_step, x_step,  \
            y_step, (n), blocks, s);                                                                         \
    }
#if EK_VF_TILE <= 4
    if (length < EK_VF_TILE)
        EK_VF_TILES(1, 0, length)
    else
        EK_VF_TILES(EK_VF_TILE, 0, length)
#else
    const int32_t most = EK_VF_PIXELS(blocks), pixels = ek_tile_pixels_f32(length, blocks);
    const int32_t narrow = ek_narrow_tiles_f32(length, pixels, blocks);
    const int32_t end = length - narrow * (pixels - 1);
    if (length == 1) { /* early, as compilers then need not look at the others */
        ek_tile_f32(x, w, b, r, y, x_step, y_step, 1, blocks, s);
        return;
    }
    if (most >= 16 && pixels == 16)
        EK_VF_TILES(16, 0, end)
    else if (most >= 12 && pixels == 12)
        EK_VF_TILES(12, 0, end)
    else if (most >= 10 && pixels == 10)
        EK_VF_TILES(10, 0, end)
    else if (most >= 9 && pixels == 9)
        EK_VF_TILES(9, 0, end)
    else if (most >= 8 && pixels == 8)
        EK_VF_TILES(8, 0, end)
    else if (most >= 7 && pixels == 7)
        EK_VF_TILES(7, 0, end)
    else if (most >= 6 && pixels == 6)
        EK_VF_TILES(6, 0, end)
    else if (most >= 5 && pixels == 5)
        EK_VF_TILES(5, 0, end)
    else if (pixels == 4)
        EK_VF_TILES(4, 0, end)
    else if (pixels == 3)
        EK_VF_TILES(3, 0, end)
    else
        EK_VF_TILES(2, 0, end)
    if (most >= 6 && narrow > 0 && pixels == 6)
        EK_VF_TILES(5, end, length)
    else if (most >= 5 && narrow > 0)
        EK_VF_TILES(4, end, length)
#endif
#undef EK_VF_TILES
}

#ifdef __OPTIMIZE_SIZE__
/* A line of `length` pixels: EK_VF_BLOCKS vectors of outputs, or one after the other; those that share words are two. */
EK_INLINED void ek_line_f32(const float *x, const uint8_t *w, const float *b, const float *r, float *y,
    const int32_t x_step, const int32_t y_step, const int32_t length, const struct ek_window_f32 *s)
{
    struct ek_window_f32 few = *s;
    const int32_t is_paired = s->kind == EK_BF16_KIND, bytes = s->block_weights * ek_weight_bytes(s->kind);
    if (s->outputs > EK_VF_LANES * (EK_VF_BLOCKS - 1) && s->outputs <= EK_VF_PART) {
        ek_row_of_tiles_f32(x, w, b, r, y, x_step, y_step, length, EK_VF_BLOCKS, s);
        return;
    }
    for (int32_t k = 0; k * EK_VF_LANES < s->outputs; k += 1 + is_paired) {
        const int32_t rest = s->outputs - k * EK_VF_LANES, most = EK_VF_LANES << is_paired;
        few.first = s->first + k * EK_VF_LANES;
        few.outputs = rest < most ? rest : most;
        if (is_paired && rest > EK_VF_LANES)
            ek_row_of_tiles_f32(x, w + k * bytes, b, r, y, x_step, y_step, length, 2, &few);
        else
            ek_row_of_tiles_f32(x, w + k * bytes, b, r, y, x_step, y_step, length, 1, &few);
    }
}
#else
/* A line of `length` pixels, at most EK_VF_PART outputs or three vectors. */
EK_INLINED void ek_line_f32(const float *x, const uint8_t *w, const float *b, const float *r, float *y,
    const int32_t x_step, const int32_t y_step, const int32_t length, const struct ek_window_f32 *s)
{
    if (EK_VF_BLOCKS >= 4 && s->outputs > 3 * EK_VF_LANES)
        ek_row_of_tiles_f32(x, w, b, r, y, x_step, y_step, length, 4, s);
    else if (s->outputs > 2 * EK_VF_LANES)
        ek_row_of_tiles_f32(x, w, b, r, y, x_step, y_step, length, 3, s);
    else if (s->outputs > EK_VF_LANES)
        ek_row_of_tiles_f32(x, w, b, r, y, x_step, y_step, length, 2, s);
    else
        ek_row_of_tiles_f32(x, w, b, r, y, x_step, y_step, length, 1, s);
}

#endif

/* A line of `length` pixels, all outputs from `first` on, part by part: `taps` weights are for each. Those of a tap are
 * side by side in a part, unless the window says otherwise. */
EK_INLINED void ek_parts_f32(const float *x, const void *w, const float *b, const float *r, float *y,
    const int32_t x_step, const int32_t y_step, const int32_t length, const int32_t taps, const int32_t first,
    const int32_t outputs, const struct ek_window_f32 *window)
{
    const int32_t whole = EK_IS_COMPACT ? 0 : outputs / EK_VF_PART * EK_VF_PART;
    const int32_t bytes = taps * ek_weight_bytes(window->kind), tap_weights = window->tap_weights;
    const uint8_t *weights = (const uint8_t *)w;
    struct ek_window_f32 s = *window;
    s.block_weights = EK_VF_LANES;
    s.tap_weights = tap_weights ? tap_weights : EK_VF_PART;
    s.outputs = EK_VF_PART;
    for (int32_t o = 0; o < whole; o += EK_VF_PART) {
        s.first = first + o;
        ek_line_f32(x, weights + o * bytes, b, r, y, x_step, y_step, length, &s);
    }
    for (int32_t o = whole; o < outputs; o += EK_VF_PART) {
        const int32_t rest = outputs - o < EK_VF_PART ? outputs - o : EK_VF_PART;
        s.first = first + o;
        s.outputs = rest;
        s.tap_weights = tap_weights ? tap_weights : (rest + EK_VF_LANES - 1) / EK_VF_LANES * EK_VF_LANES;
        ek_line_f32(x, weights + o * bytes, b, r, y, x_step, y_step, length, &s);
    }
}

#endif
