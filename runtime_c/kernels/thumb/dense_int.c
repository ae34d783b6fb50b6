/* Fully connected layer of int8 on small Cortex-M. Four outputs of a row advance together: see im2col_thumb.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e tfl once
 * @when acc_bits <= 30 and (rule == "once" or most_exponent < 0 or least_exponent > 32)
 * @pack w: O/4! I/4! i4 o4 : s16 +128 u8 @pack b: O/4! o4 @pack e: O : s8 x-1 +-1 @fold b: -128 w
 * @scratch (inputs + 3) // 4 * 4 */
/* Results of 16 bits.
 * @as thumb/dense_int.s8_s16 Y=s16 @without when @rule e
 * @when (most_exponent < 0 or least_exponent > 32) and acc_bits <= 30
 * @as thumb1/dense_int.s8_s16 like thumb/dense_int.s8_s16
 * @work inputs, outputs, padded outputs, padded products */
/* Fully connected layer of int8 on Cortex-M0+. The sums are those of dot4_thumb1.h.
 * @as thumb1/dense_int @work calls, inputs, outputs, padded outputs, padded products, positions */
#include "edgekit/contracts/dense_int.h"

static EK_SHARED void EK_FN_run(const int8_t *x, const uint8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, uint8_t *row, const struct EK_STRUCT *p)
{
    const int32_t zero = p->zero, lo = p->lo, hi = p->hi; /* once: y may point anywhere */
    const int32_t whole = (p->inputs + 3) / 4 * 4;
    ek_end_cells(row, p->inputs);
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs) {
        const uint32_t total = ek_copy_cells(row, x, p->inputs);
        for (int32_t o = 0; o < p->outputs; o += 4) {
            uint32_t sums[4];
            for (int32_t k = 0; k < 4; k++)
                sums[k] = (uint32_t)b[o + k] - 128 * total;
            ek_four_sums(row, row + whole, w + o * whole, sums);
            for (int32_t k = o; k < o + 4 && k < p->outputs; k++) {
                const int32_t result = EK_RULE(one)((int32_t)sums[k - o], m[k], e, k);
                *y++ = (EK_Y)ek_between(zero + result, lo, hi);
            }
        }
    }
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, (const uint8_t *)w, b, m, e, y, scratch, p);
}
