/* Fully connected layer of int8 with DSP instructions, two rows at a time: see pixel_pairs_dsp.h.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule tfl=pair_tfl tfl_up=pair_tfl_up e=pair_e e_wide=pair_e
 * @when rows > 1 and inputs % 4 == 0 and acc_bits + weight_shift <= 30 and weight_shift <= 7
 * @pack w: O/4! I/4! i4/2(0213) o4 i2 : s16 x{2 << weight_shift}
 * @pack b: O/4! o4 : s32 x{2 << weight_shift} @pack e: O : s8 x-1 +-{1 + weight_shift} @scratch 4 * inputs
 * @order rows 4 2 @work calls, clamped outputs, inputs, paired outputs, paired products, positions
 * @loads w: (rows + 1) // 2 */
/* The same with weights in 8 bits.
 * @as dsp/dense_int.pairs_bytes @without when
 * @rule tfl=pair_tfl_bytes tfl_up=pair_tfl_up_bytes e=pair_e_bytes e_wide=pair_e_bytes
 * @when acc_bits <= 23 and weight_shift == 0 and least_weight > -128 and rows > 1
 * @when inputs % 4 == 0 @pack w: O/4! I/4! i4/2(0213) o4/2 i2 o2 : carry s8 @pack b: O/4! o4 : s32
 * @pack e: O : s8 x-1 +-1
 * @work padded products 1.5, clamped outputs, paired outputs, paired products, products
 * @work products by 32 outputs, weights */
/* Results of 16 bits.
 * @as dsp/dense_int.pairs_s8_s16 Y=s16 @rule e=pair_e_s16 e_wide=pair_e_s16
 * @work calls, clamped outputs, inputs, paired outputs, paired products, positions, scratch */
/* Numbers and results of 16 bits.
 * @as dsp/dense_int.pairs_s16 X=s16 Y=s16 bytes=halves @rule e=pair_e_s16 e_wide=pair_e_s16
 * @work calls, clamped outputs, inputs, paired outputs, paired products, positions */
/* Numbers of 16 bits, results of 8.
 * @as dsp/dense_int.pairs_s16_s8 X=s16 bytes=halves @rule e=pair_e e_wide=pair_e
 * @work calls, clamped outputs, inputs, outputs, paired outputs, paired products, positions */
#include "edgekit/contracts/dense_int.h"

static EK_SHARED void EK_FN_run(const EK_X *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, int32_t *numbers, const struct EK_STRUCT *p)
{
    struct ek_pixel_pair layer = {w, b, m, e, 0, 4 * p->inputs, p->outputs, 0, 0};
    EK_RULE(constants)(e, p->zero, &layer.offset, &layer.shift);
    EK_Y *const first = y;
    for (int32_t left = p->rows; left > 0; left -= 2, x += 2 * p->inputs, y += 2 * p->outputs) {
        layer.step = left > 1 ? p->outputs * (int32_t)sizeof(EK_Y) : 0;
        ek_bytes_spread(x, left > 1 ? x + p->inputs : x, numbers, p->inputs);
        EK_RULE(pixels)(numbers, y, &layer);
    }
    ek_clamp_numbers(first, p->rows * p->outputs, p->lo, p->hi, sizeof(EK_Y));
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, (int32_t *)(void *)scratch, p);
}
