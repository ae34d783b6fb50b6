/* Sums of products of int8 matrices (SMMLA): two pixels x two outputs x eight cells at a time.
 * Weights are packed as O/16!4 HWI/8! o16 hwi8: eight cells of the outputs of a tile, up to sixteen, lie side by
 * side. */
#ifndef EDGEKIT_MMLA_S8_NEON_H
#define EDGEKIT_MMLA_S8_NEON_H

#include "edgekit/simd/neon/fixed_neon.h"
#include "edgekit/types.h"

/* Cells that are multiplied at once: pieces of windows are whole multiples, or gathered. And blocks of a tile. */
#define EK_MMLA_CELLS 8
#define EK_MMLA_BLOCKS 4

/* The same eight cells of two pixels, times those of two outputs. `half` counts pairs of outputs. */
#define EK_MMLA_PAIR(half, at)                                                                               \
    if (2 * blocks > half) {                                                                                 \
        const int8x16_t v = vld1q_s8(w + 32 * blocks * at + 16 * half);                                      \
        a##half = vmmlaq_s32(a##half, x##at##0, v);                                                          \
        if (pixels > 2)                                                                                      \
            b##half = vmmlaq_s32(b##half, x##at##2, v);                                                      \
    }

#define EK_MMLA_EIGHT(at)                                                                                    \
    EK_MMLA_PAIR(0, at)                                                                                      \
    EK_MMLA_PAIR(1, at)                                                                                      \
    EK_MMLA_PAIR(2, at)                                                                                      \
    EK_MMLA_PAIR(3, at)                                                                                      \
    EK_MMLA_PAIR(4, at)                                                                                      \
    EK_MMLA_PAIR(5, at)                                                                                      \
    EK_MMLA_PAIR(6, at)                                                                                      \
    EK_MMLA_PAIR(7, at)

/* Two registers of sums of one pixel each, as the matrices have them, and back. */
#define EK_MMLA_BEFORE(low, high, k)                                                                         \
    int32x4_t a##low = ek_mmla_lower(sum[k], pixels > 1 ? sum[4 + k] : sum[k]);                              \
    int32x4_t a##high = ek_mmla_upper(sum[k], pixels > 1 ? sum[4 + k] : sum[k]);                             \
    int32x4_t b##low = pixels > 2 ? ek_mmla_lower(sum[8 + k], sum[12 + k]) : a##low;                         \
    int32x4_t b##high = pixels > 2 ? ek_mmla_upper(sum[8 + k], sum[12 + k]) : a##high;

#define EK_MMLA_BEHIND(low, high, k)                                                                         \
    if (blocks > k) {                                                                                        \
        sum[k] = ek_mmla_lower(a##low, a##high);                                                             \
        if (pixels > 1)                                                                                      \
            sum[4 + k] = ek_mmla_upper(a##low, a##high);                                                     \
        if (pixels > 2)                                                                                      \
            sum[8 + k] = ek_mmla_lower(b##low, b##high);                                                     \
        if (pixels > 3)                                                                                      \
            sum[12 + k] = ek_mmla_upper(b##low, b##high);                                                    \
    }

static inline int32x4_t ek_mmla_lower(int32x4_t u, int32x4_t v)
{
    return vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(u), vreinterpretq_s64_s32(v)));
}

static inline int32x4_t ek_mmla_upper(int32x4_t u, int32x4_t v)
{
    return vreinterpretq_s32_s64(vzip2q_s64(vreinterpretq_s64_s32(u), vreinterpretq_s64_s32(v)));
}

static inline int8x16_t ek_mmla_lower_s8(int8x16_t u, int8x16_t v)
{
    return vreinterpretq_s8_s64(vzip1q_s64(vreinterpretq_s64_s8(u), vreinterpretq_s64_s8(v)));
}

static inline int8x16_t ek_mmla_upper_s8(int8x16_t u, int8x16_t v)
{
    return vreinterpretq_s8_s64(vzip2q_s64(vreinterpretq_s64_s8(u), vreinterpretq_s64_s8(v)));
}

/* One to eight cells, zeros behind them. */
static inline int8x8_t ek_mmla_load(const int8_t *x, int32_t n)
{
    if (n >= 8)
        return vld1_s8(x);
    if (n > 4)
        return vreinterpret_s8_s32(
            vset_lane_s32(vget_lane_s32(vreinterpret_s32_s8(ek_load_tail_neon(x + 4, n - 4)), 0),
                vset_lane_s32(0, vreinterpret_s32_s8(ek_load4_neon(x)), 1), 1));
    if (n == 4)
        return vreinterpret_s8_s32(vset_lane_s32(0, vreinterpret_s32_s8(ek_load4_neon(x)), 1));
    return vreinterpret_s8_s32(vset_lane_s32(0, vreinterpret_s32_s8(ek_load_tail_neon(x, n)), 1));
}

/* As ek_dot_s8_neon, for one, two or four pixels; only a single piece may be no multiple of eight. */
EK_INLINE void ek_mmla_s8_neon(const int8_t *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const int8_t *EK_RESTRICT w, const int32_t pixels,
    const int32_t blocks, int32x4_t *EK_RESTRICT sum)
{
    for (int32_t k = blocks; k < 4; k++)
        for (int32_t i = 0; i < pixels; i++)
            sum[4 * i + k] = sum[4 * i];
    EK_MMLA_BEFORE(0, 1, 0)
    EK_MMLA_BEFORE(2, 3, 1)
    EK_MMLA_BEFORE(4, 5, 2)
    EK_MMLA_BEFORE(6, 7, 3)
    for (int32_t i = 0; i < rows; i++, x += row) {
        int32_t c = 0;
        for (; c + 16 <= length; c += 16, w += 64 * blocks) {
            const int8x16_t p0 = vld1q_s8(x + c), p1 = pixels > 1 ? vld1q_s8(x + c + step) : p0;
            const int8x16_t p2 = pixels > 2 ? vld1q_s8(x + c + 2 * step) : p0;
            const int8x16_t p3 = pixels > 3 ? vld1q_s8(x + c + 3 * step) : p2;
            const int8x16_t x00 = ek_mmla_lower_s8(p0, p1), x10 = ek_mmla_upper_s8(p0, p1);
            const int8x16_t x02 = ek_mmla_lower_s8(p2, p3), x12 = ek_mmla_upper_s8(p2, p3);
            EK_MMLA_EIGHT(0)
            EK_KEEP_ORDER
            EK_MMLA_EIGHT(1)
            EK_KEEP_ORDER
        }
        for (; c < length; c += 8, w += 32 * blocks) {
            const int32_t n = length - c;
            const int8x8_t p0 = ek_mmla_load(x + c, n), p1 = pixels > 1 ? ek_mmla_load(x + c + step, n) : p0;
            const int8x8_t p2 = pixels > 2 ? ek_mmla_load(x + c + 2 * step, n) : p0;
            const int8x8_t p3 = pixels > 3 ? ek_mmla_load(x + c + 3 * step, n) : p2;
            const int8x16_t x00 = vcombine_s8(p0, p1), x02 = vcombine_s8(p2, p3);
            EK_MMLA_EIGHT(0)
        }
    }
    EK_MMLA_BEHIND(0, 1, 0)
    EK_MMLA_BEHIND(2, 3, 1)
    EK_MMLA_BEHIND(4, 5, 2)
    EK_MMLA_BEHIND(6, 7, 3)
}

#endif
