/* Sums of products of floats with NEON of ARMv7: two pixels x sixteen outputs fit into the
 * registers. Weights are packed as O/16!4 HWI o16. This unit takes and gives subnormal numbers as 0: results
 * differ from those of other targets by less than the smallest normal number there. */
#ifndef EDGEKIT_FMA_F32_NEON32_H
#define EDGEKIT_FMA_F32_NEON32_H

#include "edgekit/simd/neon/f32_neon.h"

/* What a cell adds to the sums s of a pixel and t of another in one block of outputs, whose weights are at `from`. */
#define EK_FMA_BLOCK(load, k, s, t, from)                                                                    \
    if (blocks > k) {                                                                                        \
        const float32x4_t weights = load(from);                                                              \
        s = vfmaq_f32(s, weights, u);                                                                        \
        if (pixels > 1)                                                                                      \
            t = vfmaq_f32(t, weights, v);                                                                    \
    }

#define EK_FMA_CELL(load)                                                                                    \
    {                                                                                                        \
        const float32x4_t u = vld1q_dup_f32(from);                                                           \
        const float32x4_t v = pixels > 1 ? vld1q_dup_f32(other) : u;                                         \
        EK_FMA_BLOCK(load, 0, s0, t0, w)                                                                     \
        EK_FMA_BLOCK(load, 1, s1, t1, w + 4)                                                                 \
        EK_FMA_BLOCK(load, 2, s2, t2, w + 8)                                                                 \
        EK_FMA_BLOCK(load, 3, s3, t3, w + 12)                                                                \
        from++;                                                                                              \
        other++;                                                                                             \
        w += 4 * blocks;                                                                                     \
    }

/* Of one or two pixels: sums are loaded once, and stored once. Several cells of two pixels in a row do not fit into the
 * registers: compilers load all of them first. */
#define EK_FMA_BODY(load)                                                                                    \
    float32x4_t s0 = sum[0], s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;                  \
    if (blocks > 1)                                                                                          \
        s1 = sum[1];                                                                                         \
    if (blocks > 2)                                                                                          \
        s2 = sum[2];                                                                                         \
    if (blocks > 3)                                                                                          \
        s3 = sum[3];                                                                                         \
    if (pixels > 1) {                                                                                        \
        t0 = sum[4];                                                                                         \
        t1 = blocks > 1 ? sum[5] : t0;                                                                       \
        t2 = blocks > 2 ? sum[6] : t0;                                                                       \
        t3 = blocks > 3 ? sum[7] : t0;                                                                       \
    }                                                                                                        \
    for (int32_t i = 0; i < rows; i++, x += row) {                                                           \
        const float *from = x, *other = pixels > 1 ? x + step : x;                                           \
        int32_t c = length;                                                                                  \
        for (; pixels == 1 && c >= 4; c -= 4) {                                                              \
            EK_FMA_CELL(load)                                                                                \
            EK_FMA_CELL(load)                                                                                \
            EK_FMA_CELL(load)                                                                                \
            EK_FMA_CELL(load)                                                                                \
        }                                                                                                    \
        for (; c > 0; c--)                                                                                   \
            EK_FMA_CELL(load)                                                                                \
    }                                                                                                        \
    sum[0] = s0;                                                                                             \
    if (blocks > 1)                                                                                          \
        sum[1] = s1;                                                                                         \
    if (blocks > 2)                                                                                          \
        sum[2] = s2;                                                                                         \
    if (blocks > 3)                                                                                          \
        sum[3] = s3;                                                                                         \
    if (pixels > 1) {                                                                                        \
        sum[4] = t0;                                                                                         \
        if (blocks > 1)                                                                                      \
            sum[5] = t1;                                                                                     \
        if (blocks > 2)                                                                                      \
            sum[6] = t2;                                                                                     \
        if (blocks > 3)                                                                                      \
            sum[7] = t3;                                                                                     \
    }

EK_INLINE void ek_f32_two_neon32(const float *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const float *EK_RESTRICT w, const int32_t pixels,
    const int32_t blocks, float32x4_t *EK_RESTRICT sum){EK_FMA_BODY(ek_f32_load4)}

EK_INLINE void ek_bf16_two_neon32(const float *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const uint16_t *EK_RESTRICT w, const int32_t pixels,
    const int32_t blocks, float32x4_t *EK_RESTRICT sum){EK_FMA_BODY(ek_bf16_load4)}

/* Adds to sum[4 p + b], for one, two or four pixels and one to four blocks. A pixel's cells are `rows` pieces of
 * `length`, `row` apart; pixels are `step` apart. */
EK_INLINE void ek_f32_fma_neon(const float *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const float *EK_RESTRICT w, const int32_t pixels,
    const int32_t blocks, float32x4_t *EK_RESTRICT sum)
{
    ek_f32_two_neon32(x, step, row, rows, length, w, pixels > 1 ? 2 : 1, blocks, sum);
    if (pixels > 2)
        ek_f32_two_neon32(x + 2 * step, step, row, rows, length, w, 2, blocks, sum + 8);
}

EK_INLINE void ek_bf16_fma_neon(const float *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const uint16_t *EK_RESTRICT w, const int32_t pixels,
    const int32_t blocks, float32x4_t *EK_RESTRICT sum)
{
    ek_bf16_two_neon32(x, step, row, rows, length, w, pixels > 1 ? 2 : 1, blocks, sum);
    if (pixels > 2)
        ek_bf16_two_neon32(x + 2 * step, step, row, rows, length, w, 2, blocks, sum + 8);
}

#endif
