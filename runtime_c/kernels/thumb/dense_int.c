/* Fully connected layer of int8 on small Cortex-M. Four outputs of a row advance together: see im2col_thumb.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e tfl once
 * @when acc_bits <= 30 and (rule == "once" or most_exponent < 0 or least_exponent > 32)
 * @pack w: O/4! I/4! i4 o4 : s16 +128 u8 @pack b: O/4! o4 @pack e: O : s8 x-1 +-1 @fold b: -128 w
 * @scratch (inputs + 3) // 4 * 4 @loads w: rows */
/* Results of 16 bits.
 * @as thumb/dense_int.s8_s16 Y=s16 @without when @rule e
 * @when (most_exponent < 0 or least_exponent > 32) and acc_bits <= 30
 * @as thumb1/dense_int.s8_s16 like thumb/dense_int.s8_s16
 * @work inputs, outputs, padded outputs, padded products, positions */
/* Fully connected layer of int8 on Cortex-M0+. The sums are those of dot4_thumb1.h.
 * @as thumb1/dense_int @count sixteens: rows * ((outputs + 15) // 16)
 * @work calls, inputs, outputs, padded outputs, padded products, positions, sixteens */
#include "edgekit/contracts/dense_int.h"

static EK_SHARED void EK_FN_run(const int8_t *x, const uint8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, uint8_t *row, const struct EK_STRUCT *p)
{
    const int32_t zero = p->zero, lo = p->lo, hi = p->hi; /* once: y may point anywhere */
    const int32_t whole = (p->inputs + 3) / 4 * 4;
    ek_end_cells(row, p->inputs);
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs) {
        const uint32_t total = ek_copy_cells(row, x, p->inputs);
        for (int32_t o = 0; o < p->outputs; o += 16) {
            const int32_t end = p->outputs - o < 16 ? p->outputs : o + 16;
            int32_t sums[16];
            struct ek_sums made = {b + o, (int32_t)(128 * total), sums, sums + (end - o + 3) / 4 * 4};
            ek_sums_of_cells(row, row + whole, w + o * whole, &made);
            for (int32_t k = o; k < end; k++)
                *y++ = (EK_Y)ek_between(zero + EK_RULE(one)(sums[k - o], m[k], e, k), lo, hi);
        }
    }
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, (const uint8_t *)w, b, m, e, y, scratch, p);
}
