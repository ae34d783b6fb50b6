/* Sums of products of floats with NEON, pixels x outputs in registers; weights are f32, or bf16 that are widened.
 * They are packed as O/16!4 HWI o16: the outputs of a tile, up to sixteen, lie side by side for each cell. */
#ifndef EDGEKIT_FMA_F32_NEON_H
#define EDGEKIT_FMA_F32_NEON_H

#include "edgekit/simd/neon/f32_neon.h"
#include "edgekit/simd/neon/fixed_neon.h"

static inline float32x4x2_t ek_f32_load8(const float *w)
{
    const float32x4x2_t y = {{vld1q_f32(w), vld1q_f32(w + 4)}};
    return y;
}

static inline float32x4x2_t ek_bf16_load8(const uint16_t *w)
{
    const uint16x8_t v = vld1q_u16(w);
    const float32x4x2_t y = {{vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(v), 16)),
        vreinterpretq_f32_u32(vshll_high_n_u16(v, 16))}};
    return y;
}

/* The sums of the elements of each. */
static inline float32x4_t ek_f32_across_neon(float32x4_t a, float32x4_t b, float32x4_t c, float32x4_t d)
{
    return vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d));
}

/* What one cell adds to the sums of pixel p: its number x times the weights of each block. */
#define EK_FMA_PIXEL(p, fma, x)                                                                              \
    if (pixels > p) {                                                                                        \
        sum[4 * p] = fma(sum[4 * p], u.val[0], x);                                                           \
        if (blocks > 1)                                                                                      \
            sum[4 * p + 1] = fma(sum[4 * p + 1], u.val[1], x);                                               \
        if (blocks > 2)                                                                                      \
            sum[4 * p + 2] = fma(sum[4 * p + 2], v.val[0], x);                                               \
        if (blocks > 3)                                                                                      \
            sum[4 * p + 3] = fma(sum[4 * p + 3], v.val[1], x);                                               \
    }

/* What one cell adds to the sums of up to four pixels, whose numbers are in x0 ... x3, or z0 ... z3. */
#define EK_FMA_CELL(type, fma, x)                                                                            \
    {                                                                                                        \
        float32x4x2_t u, v;                                                                                  \
        if (blocks > 1)                                                                                      \
            u = ek_##type##_load8(w);                                                                        \
        else                                                                                                 \
            u.val[0] = u.val[1] = ek_##type##_load4(w);                                                      \
        v = u;                                                                                               \
        if (blocks > 3)                                                                                      \
            v = ek_##type##_load8(w + 8);                                                                    \
        else if (blocks > 2)                                                                                 \
            v.val[0] = ek_##type##_load4(w + 8);                                                             \
        EK_FMA_PIXEL(0, fma, x##0)                                                                           \
        EK_FMA_PIXEL(1, fma, x##1)                                                                           \
        EK_FMA_PIXEL(2, fma, x##2)                                                                           \
        EK_FMA_PIXEL(3, fma, x##3)                                                                           \
        w += 4 * blocks;                                                                                     \
    }

#define EK_FMA_LANE0(sum, w, x) vfmaq_laneq_f32(sum, w, x, 0)
#define EK_FMA_LANE1(sum, w, x) vfmaq_laneq_f32(sum, w, x, 1)
#define EK_FMA_LANE2(sum, w, x) vfmaq_laneq_f32(sum, w, x, 2)
#define EK_FMA_LANE3(sum, w, x) vfmaq_laneq_f32(sum, w, x, 3)
#define EK_FMA_HALF0(sum, w, x) vfmaq_lane_f32(sum, w, x, 0)
#define EK_FMA_HALF1(sum, w, x) vfmaq_lane_f32(sum, w, x, 1)

#define EK_FMA_FOUR(type, x)                                                                                 \
    EK_FMA_CELL(type, EK_FMA_LANE0, x)                                                                       \
    EK_FMA_CELL(type, EK_FMA_LANE1, x)                                                                       \
    EK_FMA_CELL(type, EK_FMA_LANE2, x)                                                                       \
    EK_FMA_CELL(type, EK_FMA_LANE3, x)

#define EK_FMA_LOAD(type, load, x)                                                                           \
    const type x##0 = load(x), x##1 = pixels > 1 ? load((x + step)) : x##0;                                  \
    const type x##2 = pixels > 2 ? load((x + 2 * step)) : x##0;                                              \
    const type x##3 = pixels > 3 ? load((x + 3 * step)) : x##0;

/* Eight cells at a time, unless code is to be small: two vectors of a pixel are one instruction, as are two vectors of
 * weights. */
#ifdef __OPTIMIZE_SIZE__
#define EK_FMA_MANY 0
#else
#define EK_FMA_MANY 1
#endif

#define EK_FMA_BODY(type)                                                                                    \
    for (int32_t i = 0; i < rows; i++, x += row) {                                                           \
        const float *z = x;                                                                                  \
        int32_t c = length;                                                                                  \
        for (; EK_FMA_MANY && c >= 8; c -= 8, z += 8) {                                                      \
            const float *y = z + 4;                                                                          \
            EK_FMA_LOAD(float32x4_t, vld1q_f32, z)                                                           \
            EK_FMA_LOAD(float32x4_t, vld1q_f32, y)                                                           \
            EK_FMA_FOUR(type, z)                                                                             \
            EK_FMA_FOUR(type, y)                                                                             \
        }                                                                                                    \
        for (; c >= 4; c -= 4, z += 4) {                                                                     \
            EK_FMA_LOAD(float32x4_t, vld1q_f32, z)                                                           \
            EK_FMA_FOUR(type, z)                                                                             \
        }                                                                                                    \
        if (length & 2) {                                                                                    \
            EK_FMA_LOAD(float32x2_t, vld1_f32, z)                                                            \
            EK_FMA_CELL(type, EK_FMA_HALF0, z)                                                               \
            EK_FMA_CELL(type, EK_FMA_HALF1, z)                                                               \
            z += 2;                                                                                          \
        }                                                                                                    \
        if (length & 1) {                                                                                    \
            EK_FMA_LOAD(float, *, z)                                                                         \
            EK_FMA_CELL(type, vfmaq_n_f32, z)                                                                \
        }                                                                                                    \
    }

/* Adds to sum[4 p + b], for one to four pixels and blocks. A pixel's cells are `rows` pieces of `length`, `row`
 * apart; pixels are `step` apart. */
EK_INLINE void ek_f32_fma_neon(const float *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const float *EK_RESTRICT w, const int32_t pixels,
    const int32_t blocks, float32x4_t *EK_RESTRICT sum){EK_FMA_BODY(f32)}

EK_INLINE void ek_bf16_fma_neon(const float *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const uint16_t *EK_RESTRICT w, const int32_t pixels,
    const int32_t blocks, float32x4_t *EK_RESTRICT sum)
{
    EK_FMA_BODY(bf16)
}

#endif
