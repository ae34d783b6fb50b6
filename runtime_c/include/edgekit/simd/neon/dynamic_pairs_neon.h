/* Rows that were quantized in this run, by NEON without dot products, of both widths: blocks of 16 outputs, pairs of inputs.
 *
 * A product fits into 16 bits (VMULL); the two of a pair are added in 32 (VPADAL). Weights of 8 bits lie in pairs of an
 * output; those of 4 bits, 8 more, in fours, the first two in the lower halves of bytes: two of their products fit into 16
 * bits (VMLAL). */
#ifndef EDGEKIT_DYNAMIC_PAIRS_NEON_H
#define EDGEKIT_DYNAMIC_PAIRS_NEON_H

#include "edgekit/loops/dynamic_rows.h"
#include "edgekit/simd/neon/dynamic_ints_neon.h"

#define EK_DR_VECTORS(kind) 4

/* Four weights of eight outputs: of two inputs, and of the next two. */
EK_INLINED void ek_dr_weights(
    int8x16_t *first, int8x16_t *second, const int8_t *w, const int32_t k, const int32_t kind)
{
    const int8x16_t both = vld1q_s8(w + 16 * k);
    *first = kind == EK_S4_KIND ? vandq_s8(both, vdupq_n_s8(15)) : both;
    *second = kind == EK_S4_KIND ? vreinterpretq_s8_u8(vshrq_n_u8(vreinterpretq_u8_s8(both), 4))
                                 : vld1q_s8(w + 32 + 16 * k);
}

/* Of the upper halves, which compilers for 64 bits move down first where it is spelled so. */
#ifdef __aarch64__
#define EK_DR_MULL_HIGH(a, b) vmull_high_s8(a, b)
#define EK_DR_MLAL_HIGH(sum, a, b) vmlal_high_s8(sum, a, b)
#else
#define EK_DR_MULL_HIGH(a, b) vmull_s8(vget_high_s8(a), vget_high_s8(b))
#define EK_DR_MLAL_HIGH(sum, a, b) vmlal_s8(sum, vget_high_s8(a), vget_high_s8(b))
#endif

/* Adds the products of four inputs and eight outputs: a and b are pairs of inputs, eight times. */
EK_INLINED void ek_dr_eight(ek_dr_ints *sum, const int8x16_t first, const int8x16_t second, const int8x16_t a,
    const int8x16_t b, const int32_t kind)
{
    const int16x8_t low = vmull_s8(vget_low_s8(first), vget_low_s8(a)), high = EK_DR_MULL_HIGH(first, a);
    if (kind == EK_S4_KIND) {
        sum[0] = vpadalq_s16(sum[0], vmlal_s8(low, vget_low_s8(second), vget_low_s8(b)));
        sum[1] = vpadalq_s16(sum[1], EK_DR_MLAL_HIGH(high, second, b));
    } else {
        sum[0] = vpadalq_s16(sum[0], low);
        sum[1] = vpadalq_s16(sum[1], high);
        sum[0] = vpadalq_s16(sum[0], vmull_s8(vget_low_s8(second), vget_low_s8(b)));
        sum[1] = vpadalq_s16(sum[1], EK_DR_MULL_HIGH(second, b));
    }
}

/* Four inputs, the first or last ones of eight, of some rows and a block of outputs. */
EK_INLINED void ek_dr_half(ek_dr_ints *sum, const int16x4_t *x, const int8_t *w, const int32_t half,
    const int32_t rows, const int32_t kind)
{
    int8x16_t a[2], b[2];
    EK_UNROLLED_FOR(2, int32_t r = 0; r < rows; r++) {
        a[r] = vreinterpretq_s8_s16(half ? vdupq_lane_s16(x[r], 2) : vdupq_lane_s16(x[r], 0));
        b[r] = vreinterpretq_s8_s16(half ? vdupq_lane_s16(x[r], 3) : vdupq_lane_s16(x[r], 1));
    }
    EK_UNROLLED_FOR(2, int32_t k = 0; k < 2; k++) {
        int8x16_t first, second;
        ek_dr_weights(&first, &second, w, k, kind);
        EK_UNROLLED_FOR(2, int32_t r = 0; r < rows; r++)
            ek_dr_eight(sum + 4 * r + 2 * k, first, second, a[r], b[r], kind);
    }
}

/* Adds the products of `count` inputs, whole eights, of some rows and a block of outputs. */
EK_INLINED void ek_dr_products(ek_dr_ints *sum, const int8_t *x, const int32_t step, const void *w,
    const int32_t count, const int32_t rows, const int32_t kind)
{
    const int8_t *from = (const int8_t *)w;
    const int32_t bytes = kind == EK_S4_KIND ? 32 : 64;
    for (int32_t i = 0; i < count; i += 8, from += 2 * bytes) {
        int16x4_t eight[2];
        EK_UNROLLED_FOR(2, int32_t r = 0; r < rows; r++) {
            eight[r] = vreinterpret_s16_s8(vld1_s8(x + r * step + i));
            __asm__("" : "+w"(eight[r])); /* compilers would load each pair into a register of integers */
        }
        ek_dr_half(sum, eight, from, 0, rows, kind);
        ek_dr_half(sum, eight, from + bytes, 1, rows, kind);
    }
}

#endif
