/* Fully connected layer of int8. Eight outputs advance together, sixteen inputs at once.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide tfl once @when least_weight > -128 @pack w: O/8! I/16! o8 i16
 * @pack b: O/8! o8 @pack m: O/8! o8 @pack e: O/8! o8 @scratch 16 @order rows 8 */
/* Results of 16 bits.
 * @as neon32/dense_int.s8_s16 Y=s16 @without order @rule e e_wide */
#include "edgekit/contracts/dense_int.h"

/* Four results of which sums are known but for the bias. */
EK_INLINE int32x4_t EK_FN_scaled(const int32x4_t sum, const int32_t *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, const int32_t o)
{
    return EK_RULE(x4)(vaddq_s32(sum, vld1q_s32(b + o)), vld1q_s32(m + o), EK_RULE(load)(e, o));
}

/* Eight outputs of one row. Its last inputs that are less than sixteen are in `last`, zeros behind them. */
EK_INLINE void EK_FN_tile(const int8_t *EK_RESTRICT x, const int8_t *EK_RESTRICT last,
    const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m,
    const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y, const int32_t o, const struct EK_STRUCT *p)
{
    int32x4_t s0 = vdupq_n_s32(0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
    int32_t i = 0;
    for (; i + 16 <= p->inputs; i += 16) {
        const int8x16_t u = vld1q_s8(x + i);
        EK_PAIRS16_OF_TWO(s0, s1)
        EK_PAIRS16_OF_TWO(s2, s3)
        EK_PAIRS16_OF_TWO(s4, s5)
        EK_PAIRS16_OF_TWO(s6, s7)
    }
    if (i < p->inputs) {
        const int8x16_t u = vld1q_s8(last);
        EK_PAIRS16_OF_TWO(s0, s1)
        EK_PAIRS16_OF_TWO(s2, s3)
        EK_PAIRS16_OF_TWO(s4, s5)
        EK_PAIRS16_OF_TWO(s6, s7)
    }
    ek_store_numbers8_neon(y + o, EK_FN_scaled(ek_across_neon(s0, s1, s2, s3), b, m, e, o),
        EK_FN_scaled(ek_across_neon(s4, s5, s6, s7), b, m, e, o + 4), p->outputs - o, p->zero, p->lo, p->hi,
        sizeof(EK_Y));
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    int8_t *last = (int8_t *)scratch;
    const int32_t block = (p->inputs + 15) / 16 * 128;
    vst1q_s8(last, vdupq_n_s8(0));
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs, y += p->outputs) {
        ek_copy_neon(last, x + p->inputs / 16 * 16, p->inputs % 16);
        int32_t o = 0;
        for (; o + 8 <= p->outputs; o += 8)
            EK_FN_tile(x, last, w + o / 8 * block, b, m, e, y, o, p);
        if (o < p->outputs)
            EK_FN_tile(x, last, w + o / 8 * block, b, m, e, y, o, p);
    }
}
