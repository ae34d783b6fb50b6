/* Fully connected layer of int8 with DSP instructions: see dense_int.h and dots_dsp.h. Rows are whole words.
 * for X=s8 W=s8 Y=s8 S=s32
 * rule tfl once e e_wide=e
 * when inputs % 4 == 0 and sum_bits + up <= 30 and up <= 7
 * pack w: O/8! I/4! o8 i4(0213) : s16 x{2 << up}
 * pack b: O/8! o8 : s32 x{2 << up}
 * pack e: O : s8 x-1 +-{1 + up}
 * order rows 8 */
#include "edgekit/dense_int.h"

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
