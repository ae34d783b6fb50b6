/* Fully connected layer of int8 and weights of four bits with DSP instructions: see gemm_int4_dsp.h. Where the
 * last row ends within eight, it is copied, as nothing behind it may be read.
 * @for X=s8 W=s4 Y=s8 S=s32 @rule e=e_nibbles @when acc_bits <= 30 and most_exponent > 32
 * @pack w: O/4! I/8! o4 i8(01452367) : +8 u4 @pack b: O/4! o4 : s32 @pack e: O : s8 x-1 +-1
 * @scratch (inputs + 7) // 8 * 8 @order rows 4
 * @loads w: rows
 * @work calls, clamped outputs, inputs, padded outputs, padded products, paired outputs, positions
 * @work scratch */
/* Fully connected layer of int8 with DSP instructions, weights in 8 bits, of sums that leave 24 bits: see gemm_dsp.h.
 * @as dsp/dense_int.long_bytes W=s8 @without when
 * @rule tfl=tfl_bytes tfl_up=tfl_bytes once=once_bytes once_up=once_bytes e=e_bytes e_wide=e_bytes
 * @when acc_bits > 23 and weight_shift == 0 and acc_bits <= 30 @pack w: O/8! I/4! o8 i4 : s8
 * @pack b: O/8! o8 : s32 @scratch (inputs + 3) // 4 * 4 @order rows 8 @work padded products, scratch */
#include "edgekit/contracts/dense_int.h"

static EK_SHARED void EK_FN_run(const EK_X *x, const EK_W *w, const int32_t *b, const int32_t *m,
    const int8_t *e, EK_Y *y, uint8_t *scratch, const struct EK_STRUCT *p)
{
    struct ek_dots layer;
    layer.w = w;
    layer.b = b;
    layer.m = m;
    layer.e = e;
    const int32_t bytes = (int32_t)sizeof(EK_X), unit = EK_RULE(unit);
    layer.depth = (p->inputs + unit - 1) / unit * unit * bytes;
    layer.outputs = p->outputs;
    EK_RULE(constants)(e, p->zero, &layer.offset, &layer.shift);
    EK_Y *const first = y;
    for (int32_t r = 0; r < p->rows; r++, x += p->inputs, y += p->outputs)
        if ((p->rows - r) * p->inputs * bytes >= layer.depth)
            EK_RULE(dots)(x, y, &layer);
        else {
            ek_copy_bytes((int8_t *)scratch, (const int8_t *)x, p->inputs * bytes);
            EK_RULE(dots)(scratch, y, &layer);
        }
    ek_clamp_numbers(first, (int32_t)(y - first), p->lo, p->hi, sizeof(EK_Y));
}

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    EK_FN_run(x, w, b, m, e, y, scratch, p);
}
