/* Fully connected layer of int8: see dense_int.h. Rows are the pixels of a line: see lines_s8_x16.h.
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once
 * when sum_bits + max(most_exponent, 0) * (rule == "tfl") <= 30
 * pack w: O/16! I/4! o16 i4
 * fold b: -128 w
 * scratch rows * inputs + 64 */
#include "edgekit/dense_int.h"

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const struct ek_window_s8_x16 s = {
        1, (p->inputs + 3) / 4, 0, p->outputs, {EK_RULE(kind)(), p->zero, p->lo, p->hi}};
    ek_unsigned_x16(x, scratch, p->rows * p->inputs);
    ek_lines_s8_x16(scratch, w, b, m, e, y, 1, 0, p->inputs, p->rows, &s);
}
