/* Sums of products of floats with NEON, pixels x outputs in registers; weights are f32, or bf16 that are widened.
 * They are packed as O/8! HWI o8: two blocks of four outputs are eight numbers for each cell. */
#ifndef EDGEKIT_FMA_F32_NEON_H
#define EDGEKIT_FMA_F32_NEON_H

#include "edgekit/fixed_neon.h"
#include "edgekit/types.h"

/* Four weights as floats. */
static inline float32x4_t ek_f32_load4(const float *w)
{
    return vld1q_f32(w);
}

static inline float32x4_t ek_bf16_load4(const uint16_t *w)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(w), 16));
}

/* The first n of four floats. */
static inline void ek_f32_store_neon(float *y, float32x4_t v, int32_t n)
{
    if (n >= 4)
        vst1q_f32(y, v);
    else {
        if (n > 0)
            y[0] = vgetq_lane_f32(v, 0);
        if (n > 1)
            y[1] = vgetq_lane_f32(v, 1);
        if (n > 2)
            y[2] = vgetq_lane_f32(v, 2);
    }
}

/* n floats, which do not overlap. */
static inline void ek_f32_copy_neon(float *y, const float *x, int32_t n)
{
    int32_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1q_f32(y + i, vld1q_f32(x + i));
    for (; i < n; i++)
        y[i] = x[i];
}

static inline void ek_f32_zero_neon(float *y, int32_t n)
{
    int32_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1q_f32(y + i, vdupq_n_f32(0.0f));
    for (; i < n; i++)
        y[i] = 0.0f;
}

static inline float32x4_t ek_f32_clamp_neon(float32x4_t v, float lo, float hi)
{
    if (lo > -EK_INF_f32)
        v = vmaxq_f32(v, vdupq_n_f32(lo));
    if (hi < EK_INF_f32)
        v = vminq_f32(v, vdupq_n_f32(hi));
    return v;
}

#define EK_FMA_PIXEL(p, fma)                                                                                 \
    if (pixels > p) {                                                                                        \
        sum[4 * p] = fma(sum[4 * p], w0, x##p);                                                              \
        if (blocks > 1)                                                                                      \
            sum[4 * p + 1] = fma(sum[4 * p + 1], w1, x##p);                                                  \
        if (blocks > 2)                                                                                      \
            sum[4 * p + 2] = fma(sum[4 * p + 2], w2, x##p);                                                  \
        if (blocks > 3)                                                                                      \
            sum[4 * p + 3] = fma(sum[4 * p + 3], w3, x##p);                                                  \
    }

/* What one cell adds to the sums of up to four pixels. */
#define EK_FMA_CELL(load, fma, at)                                                                           \
    {                                                                                                        \
        const float32x4_t w0 = load(w + 8 * at);                                                             \
        const float32x4_t w1 = blocks > 1 ? load(w + 8 * at + 4) : w0;                                       \
        const float32x4_t w2 = blocks > 2 ? load(v + 8 * at) : w0;                                           \
        const float32x4_t w3 = blocks > 3 ? load(v + 8 * at + 4) : w0;                                       \
        EK_FMA_PIXEL(0, fma)                                                                                 \
        EK_FMA_PIXEL(1, fma)                                                                                 \
        EK_FMA_PIXEL(2, fma)                                                                                 \
        EK_FMA_PIXEL(3, fma)                                                                                 \
    }

#define EK_FMA_LANE0(sum, w, x) vfmaq_laneq_f32(sum, w, x, 0)
#define EK_FMA_LANE1(sum, w, x) vfmaq_laneq_f32(sum, w, x, 1)
#define EK_FMA_LANE2(sum, w, x) vfmaq_laneq_f32(sum, w, x, 2)
#define EK_FMA_LANE3(sum, w, x) vfmaq_laneq_f32(sum, w, x, 3)

#define EK_FMA_BODY(load)                                                                                    \
    for (int32_t i = 0; i < rows; i++, x += row) {                                                           \
        int32_t c = 0;                                                                                       \
        for (; c + 4 <= length; c += 4, w += 32, v += 32) {                                                  \
            const float32x4_t x0 = vld1q_f32(x + c), x1 = pixels > 1 ? vld1q_f32(x + c + step) : x0;         \
            const float32x4_t x2 = pixels > 2 ? vld1q_f32(x + c + 2 * step) : x0;                            \
            const float32x4_t x3 = pixels > 3 ? vld1q_f32(x + c + 3 * step) : x0;                            \
            EK_FMA_CELL(load, EK_FMA_LANE0, 0)                                                               \
            EK_FMA_CELL(load, EK_FMA_LANE1, 1)                                                               \
            EK_FMA_CELL(load, EK_FMA_LANE2, 2)                                                               \
            EK_FMA_CELL(load, EK_FMA_LANE3, 3)                                                               \
        }                                                                                                    \
        for (; c < length; c++, w += 8, v += 8) {                                                            \
            const float x0 = x[c], x1 = pixels > 1 ? x[c + step] : x0;                                       \
            const float x2 = pixels > 2 ? x[c + 2 * step] : x0, x3 = pixels > 3 ? x[c + 3 * step] : x0;      \
            EK_FMA_CELL(load, vfmaq_n_f32, 0)                                                                \
        }                                                                                                    \
    }

/* Adds to sum[4 p + b], for one to four pixels and blocks. A pixel's cells are `rows` pieces of `length`, `row`
 * apart; pixels are `step` apart, and blocks of weights `block`. */
EK_INLINE void ek_f32_fma_neon(const float *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const float *EK_RESTRICT w, const int32_t block,
    const int32_t pixels, const int32_t blocks, float32x4_t *EK_RESTRICT sum)
{
    const float *v = w + 2 * block;
    EK_FMA_BODY(ek_f32_load4);
}

EK_INLINE void ek_bf16_fma_neon(const float *EK_RESTRICT x, const int32_t step, const int32_t row,
    const int32_t rows, const int32_t length, const uint16_t *EK_RESTRICT w, const int32_t block,
    const int32_t pixels, const int32_t blocks, float32x4_t *EK_RESTRICT sum)
{
    const uint16_t *v = w + 2 * block;
    EK_FMA_BODY(ek_bf16_load4);
}

#endif
