/* int8 sum by TFLite's rule with DSP instructions. The operand of the larger scale is halved, which is exact: it
 * needs a shift, no multiplier.
 * @when sign == 1 and (a_exponent == 0) != (b_exponent == 0) and max(a_exponent, b_exponent) == 0
 * @when exponent < 0 and sa[5] == 1 and sb[5] == 1 */
#include "edgekit/contracts/add_s8.h"
#include "edgekit/loops/rows.h"

EK_KERNEL void EK_FN(const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p)
{
    const int is_first = p->a_exponent == 0;
    const struct ek_halves halves = {is_first ? p->a_zero : p->b_zero, is_first ? p->b_zero : p->a_zero,
        is_first ? p->b_multiplier : p->a_multiplier, is_first ? p->b_exponent : p->a_exponent, p->multiplier,
        p->exponent, p->zero};
    int8_t *const first = y += p->y0;
    EK_EACH_ROW(y, p) {
        const int8_t *row_a = EK_ROW_AT(a, p->a0, p->sa);
        const int8_t *row_b = EK_ROW_AT(b, p->b0, p->sb);
        ek_add_halves(is_first ? row_a : row_b, is_first ? row_b : row_a, y, p->n[5], &halves);
    }
    ek_clamp_bytes(first, (int32_t)(y - first), p->lo, p->hi);
}
