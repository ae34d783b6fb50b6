/* Fully connected layer of int8 with DSP instructions, row by row: see row_dots_dsp.h.
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule tfl=row_tfl tfl_up=row_tfl_up once=row_once once_up=row_once_up e=row_e e_wide=row_e
 * @when acc_bits + weight_shift <= 30 and weight_shift <= 7
 * @pack w: O/4! I/4! i4/2(0213) o4 i2 : s16 x{2 << weight_shift}
 * @pack b: O/4! o4 : s32 x{2 << weight_shift} @pack e: O : s8 x-1 +-{1 + weight_shift}
 * @scratch 2 * ((inputs + 3) // 4 * 4) @order rows 1
 * @loads w: rows
 * @work calls, clamped outputs, inputs, odd outputs, outputs, padded outputs, padded products, positions */
/* The same with weights in 8 bits.
 * @as dsp/dense_int.bytes @without when
 * @rule tfl=row_tfl_bytes tfl_up=row_tfl_up_bytes once=row_once_bytes once_up=row_once_up_bytes e=row_e_bytes e_wide=row_e_bytes
 * @when acc_bits <= 23 and weight_shift == 0 and least_weight > -128
 * @pack w: O/4! I/4! i4/2(0213) o4/2 i2 o2 : carry s8 @pack b: O/4! o4 : s32 @pack e: O : s8 x-1 +-1
 * @work padded products 2, calls, clamped outputs, inputs, padded outputs, positions */
/* Results of 16 bits.
 * @as dsp/dense_int.s8_s16 Y=s16 @rule e=row_e_s16 e_wide=row_e_s16
 * @work calls, clamped outputs, inputs, padded outputs, padded products, positions */
/* Results of 16 bits, weights in 8.
 * @as dsp/dense_int.bytes_s8_s16 Y=s16 like dsp/dense_int.bytes
 * @rule e=row_e_s16_bytes e_wide=row_e_s16_bytes
 * @work clamped outputs, inputs, padded outputs, padded products, positions */
/* Numbers and results of 16 bits.
 * @as dsp/dense_int.s16 X=s16 Y=s16 bytes=halves @rule e=row_e_s16 e_wide=row_e_s16
 * @work calls, clamped outputs, inputs, odd outputs, outputs, padded outputs, padded products, positions */
/* Numbers of 16 bits, results of 8.
 * @as dsp/dense_int.s16_s8 X=s16 bytes=halves @rule e=row_e e_wide=row_e
 * @work calls, clamped outputs, inputs, outputs, padded outputs, padded products, positions, scratch */
#include "edgekit/contracts/dense_int.h"

static EK_SHARED void EK_FN_run(const EK_X *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, int32_t *numbers, const struct EK_STRUCT *p)
{
    const int32_t whole = p->inputs / 4 * 4, rest = p->inputs - whole;
    struct ek_dots layer = {w, b, m, e, 0, (p->inputs + 3) / 4 * 8, p->outputs, 0};
    EK_RULE(constants)(e, p->zero, &layer.offset, &layer.shift);
    EK_Y *const first = y;
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs, y += p->outputs) {
        int32_t *const end = ek_bytes_row(x, numbers, whole);
        if (rest) {
            EK_X last[4] = {0, 0, 0, 0};
            for (int32_t i = 0; i < rest; i++)
                last[i] = x[whole + i];
            ek_bytes_row(last, end, 4);
        }
        EK_RULE(dots)(numbers, y, &layer);
    }
    ek_clamp_numbers(first, (int32_t)(y - first), p->lo, p->hi, sizeof(EK_Y));
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, (int32_t *)(void *)scratch, p);
}
