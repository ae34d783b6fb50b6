/* Rows that were quantized in this run, by SMMLA: blocks of 16 outputs, eight inputs of which lie side by side. Weights of 4
 * bits, 8 more, lie in blocks of 8 outputs, the first four in the lower halves of bytes. */
#ifndef EDGEKIT_DYNAMIC_ROWS_I8MM_H
#define EDGEKIT_DYNAMIC_ROWS_I8MM_H

#include "edgekit/simd/neon/dynamic_tiles_a64.h"

/* Pairs of outputs, eight weights each. */
EK_INLINED void ek_dr_weights(int8x16_t *to, const int8_t *w, const int32_t kind)
{
    const int32_t half = EK_DR_VECTORS(kind);
    EK_UNROLLED_FOR(8, int32_t k = 0; k < half; k++) {
        const int8x16_t both = vld1q_s8(w + 16 * k);
        if (kind == EK_S4_KIND) {
            to[k] = vandq_s8(both, vdupq_n_s8(15));
            to[half + k] = vreinterpretq_s8_u8(vshrq_n_u8(vreinterpretq_u8_s8(both), 4));
        } else {
            to[k] = both;
            to[half + k] = vld1q_s8(w + 64 + 16 * k);
        }
    }
}

/* Eight inputs of a row: two sums of each output. */
EK_INLINED void ek_dr_eight(ek_dr_ints *parts, const int8_t *x, const int8_t *w, const int32_t kind)
{
    const int8x8_t eight = vld1_s8(x);
    const int8x16_t twice = vcombine_s8(eight, eight);
    int8x16_t v[8];
    ek_dr_weights(v, w, kind);
    EK_UNROLLED_FOR(8, int32_t k = 0; k < 2 * EK_DR_VECTORS(kind); k++)
        parts[k] = vdotq_s32(parts[k], v[k], twice);
}

/* Two numbers of a, and two of b: the lower ones, or the upper. */
EK_INLINE ek_vf ek_dr_halves(const ek_vf a, const ek_vf b, const int32_t is_upper)
{
    const float64x2_t u = vreinterpretq_f64_f32(a), v = vreinterpretq_f64_f32(b);
    return vreinterpretq_f32_f64(is_upper ? vzip2q_f64(u, v) : vzip1q_f64(u, v));
}

/* Sums of four rows lie by two rows, then by two outputs: a register has two of each. */
#define EK_DR_START(offsets, g, groups, k, rows, vectors) ek_dr_start(offsets, g, k, rows, vectors)
#define EK_DR_FACTOR(scale, k, rows, vectors, kind) ek_dr_factor(scale, k, rows, vectors, kind)
#define EK_DR_IN_ORDER(sums, rows, vectors) ek_dr_in_order(sums, rows, vectors);

EK_INLINED ek_dr_ints ek_dr_start(
    const int32_t *offsets, const int32_t g, const int32_t k, const int32_t rows, const int32_t vectors)
{
    const int32_t *const of = offsets + (rows == 1 ? g : 4 * g + k / (2 * vectors) * 2);
    return rows == 1 ? vdupq_n_s32(*of) : vcombine_s32(vdup_n_s32(of[0]), vdup_n_s32(of[1]));
}

EK_INLINED ek_vf ek_dr_factor(
    const void *scale, const int32_t k, const int32_t rows, const int32_t vectors, const int32_t kind)
{
    const int32_t pair = k % (2 * vectors);
    const ek_vf four = ek_vf_weights(scale, (rows == 1 ? k : pair / 2) * EK_VF_LANES, kind);
    return rows == 1 ? four : ek_dr_halves(four, four, pair % 2);
}

EK_INLINED void ek_dr_in_order(ek_vf *sum, const int32_t rows, const int32_t vectors)
{
    ek_vf rest[16];
    if (rows == 1)
        return;
    EK_UNROLLED_FOR(16, int32_t k = 0; k < 4 * vectors; k++)
        rest[k] = sum[k];
    EK_UNROLLED_FOR(16, int32_t k = 0; k < 4 * vectors; k++) {
        const int32_t row = k / vectors, from = row / 2 * 2 * vectors + k % vectors * 2;
        sum[k] = ek_dr_halves(rest[from], rest[from + 1], row % 2);
    }
}

/* Eight inputs of a tile. */
EK_INLINED void ek_dr_tile(ek_dr_ints *sum, const int8_t *x, const int8_t *w, const int32_t kind)
{
    const int32_t pairs = 2 * EK_DR_VECTORS(kind);
    const int8x16_t first = vld1q_s8(x), second = vld1q_s8(x + 16);
    int8x16_t v[8];
    ek_dr_weights(v, w, kind);
    EK_UNROLLED_FOR(8, int32_t k = 0; k < pairs; k++) {
        sum[k] = vmmlaq_s32(sum[k], first, v[k]);
        sum[pairs + k] = vmmlaq_s32(sum[pairs + k], second, v[k]);
    }
}

/* Adds the products of `count` inputs, whole eights, of one row or a tile of four and a block of outputs. */
EK_INLINED void ek_dr_products(ek_dr_ints *sum, const int8_t *x, const int32_t step, const void *w,
    const int32_t count, const int32_t rows, const int32_t kind)
{
    const int8_t *const from = (const int8_t *)w;
    const int32_t bytes = EK_DR_BYTES(kind), vectors = EK_DR_VECTORS(kind);
    (void)step;
    if (rows == 1) {
        ek_dr_ints parts[8];
        EK_UNROLLED_FOR(8, int32_t k = 0; k < 2 * vectors; k++)
            parts[k] = vdupq_n_s32(0);
        EK_DR_EIGHTS(count, kind, ek_dr_eight(parts, x + i, from + bytes * i, kind))
        EK_UNROLLED_FOR(4, int32_t k = 0; k < vectors; k++)
            sum[k] = vaddq_s32(sum[k], vpaddq_s32(parts[2 * k], parts[2 * k + 1]));
    } else {
        EK_DR_EIGHTS(count, kind, ek_dr_tile(sum, x + 4 * i, from + bytes * i, kind))
    }
}

#endif
