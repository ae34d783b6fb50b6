/* Fully connected layer of int8 on RISC-V without vectors. Eight outputs of a row advance together.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e tfl once
 * @when acc_bits <= 30 and (rule == "once" or most_exponent < 0 or least_exponent > 32) @pack w: O/8! I o8
 * @pack b: O/8! o8 @pack e: O : s8 x-1 +-1 @order rows 8 */
/* Results of 16 bits.
 * @as riscv/dense_int.s8_s16 Y=s16 @without when, order @rule e
 * @when (most_exponent < 0 or least_exponent > 32) and acc_bits <= 30 */
#include "edgekit/contracts/dense_int.h"

static EK_SHARED void EK_FN_block(
    const int8_t *x, const int8_t *EK_RESTRICT w, int32_t *EK_RESTRICT sums, const int32_t inputs)
{
    int32_t s[8];
    EK_UNROLLED_FOR(8, int32_t n = 0; n < 8; n++)
        s[n] = sums[n];
    EK_UNROLLED_FOR(2, int32_t i = 0; i < inputs; i++, w += 8) {
        const int32_t t = x[i];
        EK_UNROLLED_FOR(8, int32_t n = 0; n < 8; n++)
            s[n] = ek_add_in_turn(s[n], t * w[n]);
    }
    EK_UNROLLED_FOR(8, int32_t n = 0; n < 8; n++)
        sums[n] = s[n];
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const int32_t zero = p->zero, lo = p->lo, hi = p->hi; /* once: y may point anywhere */
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs)
        for (int32_t o = 0; o < p->outputs; o += 8) {
            int32_t sums[8];
            for (int32_t n = 0; n < 8; n++)
                sums[n] = b[o + n];
            EK_FN_block(x, w + o * p->inputs, sums, p->inputs);
            for (int32_t k = o; k < o + 8 && k < p->outputs; k++) {
                const int32_t result = EK_RULE(one)(sums[k - o], m[k], e, k);
                *y++ = (EK_Y)ek_between(zero + result, lo, hi);
            }
        }
}
