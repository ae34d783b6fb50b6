/* Fully connected layer of int8 with Helium: two rows, or one, and four outputs at once, see ek_mve_sums_2x4.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule e e_wide=e_up tfl once once_up
 * @when (rule != "once_up" or most_exponent < -1)
 * @when (most_exponent <= 0 or least_exponent + weight_shift > 31)
 * @when (most_exponent <= 0 or acc_bits + weight_shift <= 31) @pack w: O/4! I/16! o4 i16 @pack b: O/4! o4
 * @pack m: O/4! o4 @pack e: O/4! o4 @order rows 4 2
 * @loads w: (rows + 1) // 2
 * @work calls, padded outputs, padded products, paired products, products */
/* Fully connected layer of int8 with Helium, ratios below 1/4.
 * @as mve/dense_int.dot_right @without when @rule once=once_right @when most_exponent < -1
 * @work outputs, padded products, paired products, positions */
/* Fully connected layer of int8 with Helium, results of 16 bits.
 * @as mve/dense_int.dot_s8_s16 Y=s16 @without when rule != "once_up" or most_exponent < -1
 * @rule e e_wide=e_up @work calls, outputs, padded products, products, weights */
#include "edgekit/contracts/dense_int.h"

/* Four outputs from `first` on, at most `count` of them, of one row, or of two. */
EK_INLINE void EK_FN_block(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, int32_t first, int32_t count, const int two, const struct EK_STRUCT *p)
{
    const int32x4_t bias = vldrwq_s32(b + first), factor = vldrwq_s32(m + first);
    const int32x4_t exponent = EK_RULE(exponents)(e, first);
    int32x4_t sum0, sum1;
    ek_mve_sums_2x4(x, x + p->inputs, w, p->inputs, two, &sum0, &sum1);
    sum0 = EK_RULE(x4)(vaddq_s32(sum0, bias), factor, exponent);
    ek_mve_store_numbers(y + first, sum0, p->zero, p->lo, p->hi, count, sizeof(EK_Y));
    if (two) {
        sum1 = EK_RULE(x4)(vaddq_s32(sum1, bias), factor, exponent);
        ek_mve_store_numbers(y + p->outputs + first, sum1, p->zero, p->lo, p->hi, count, sizeof(EK_Y));
    }
}

/* All outputs of one row, or of two. */
EK_COMPACT void EK_FN_rows(const int8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, const int two, const struct EK_STRUCT *p)
{
    const int32_t rest = p->outputs % 4, step = (p->inputs + 15) / 16 * 64;
    int32_t o = 0;
    for (; o < p->outputs - rest; o += 4, w += step)
        EK_FN_block(x, w, b, m, e, y, o, 4, two, p);
    if (rest > 0)
        EK_FN_block(x, w, b, m, e, y, o, rest, two, p);
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, const struct EK_STRUCT *p)
{
    int32_t r = 0;
    for (; r + 1 < p->rows; r += 2)
        EK_FN_rows(x + r * p->inputs, w, b, m, e, y + r * p->outputs, 1, p);
    if (r < p->rows)
        EK_FN_rows(x + r * p->inputs, w, b, m, e, y + r * p->outputs, 0, p);
}
