/* Fully connected layer of int8 with DSP instructions, without the blocks of weights that are zero.
 * @for X=s8 W=s8 Y=s8 S=s32
 * @rule tfl=tfl_blocks tfl_up=tfl_blocks once=once_blocks once_up=once_blocks e=e_blocks e_wide=e_blocks
 * @when zero_blocks(1, 4) >= 45 + 800 // inputs and inputs % 4 == 0
 * @when acc_bits + weight_shift <= 30 and weight_shift <= 7
 * @pack w: blocks O/1! I/4! o1 i4(0213) : s16 x{2 << weight_shift} @pack b: O : s32 x{2 << weight_shift}
 * @pack e: O : s8 x-1 +-{1 + weight_shift} @order rows 1
 * @loads w: rows
 * @work calls, clamped outputs, outputs, padded products, paired outputs */
/* Fully connected layer of int8 with DSP instructions, without the blocks of weights that are zero, the others in
 * 8 bits.
 * @as dsp/dense_int.blocks_bytes @without when
 * @rule tfl=tfl_blocks_bytes tfl_up=tfl_blocks_bytes once=once_blocks_bytes once_up=once_blocks_bytes e=e_blocks_bytes e_wide=e_blocks_bytes
 * @when zero_blocks(1, 4) >= 52 and acc_bits <= 30 and weight_shift == 0 and inputs % 4 == 0
 * @pack w: blocks O/1! I/4! o1 i4 : s8 @pack b: O : s32 @pack e: O : s8 x-1 +-1
 * @work clamped outputs, inputs, padded outputs, padded products, paired outputs */
#include "edgekit/contracts/dense_int.h"

static EK_SHARED void EK_FN_run(const EK_X *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, const struct EK_STRUCT *p)
{
    struct ek_dots layer;
    layer.w = w;
    layer.b = b;
    layer.m = m;
    layer.e = e;
    layer.depth = p->inputs * (int32_t)sizeof(EK_X);
    layer.outputs = p->outputs;
    EK_RULE(constants)(e, p->zero, &layer.offset, &layer.shift);
    EK_Y *const first = y;
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs, y += p->outputs)
        EK_RULE(dots)(x, y, &layer);
    ek_clamp_numbers(first, (int32_t)(y - first), p->lo, p->hi, sizeof(EK_Y));
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, p);
}
