/* Rows of a table of bytes with a scale for each group, which lies as a layer for DSP instructions reads it, too: in fours
 * of a row, the first and the third, then the second and the fourth, and pairs of rows side by side.
 * @for W=s8 @also gather_groupwise_symmetric @when carry
 * @pack w: O/{block}!{last} I/16! i16/2(021346578a9bcedf) o{block}/2 i2 o2 : carry s8
 * @pack scale: O/{block}!{last} I o{block} @pack zero: O/{block}!{last} I o{block}
 * @work calls, outputs, padded products, positions, rest cells */
#include "edgekit/contracts/gather_groupwise.h"

EK_KERNEL void EK_FN(const EK_W *EK_RESTRICT w, const EK_C *EK_RESTRICT scale,
    EK_IF_ZERO(const EK_Z *EK_RESTRICT zero, ) const EK_I *EK_RESTRICT index, EK_T *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    const int32_t groups = (p->n + p->group - 1) / p->group, length = (p->n + 15) / 16 * 16;
    for (int32_t r = 0; r < p->rows; r++) {
        EK_I_ACC k = EK_LOAD_I(index[r]);
        k = k < 0 ? k + p->size : k;
        k = k < 0 ? 0 : k < p->size ? k : p->size - 1;
        const int32_t within = (int32_t)k % p->block, first = (int32_t)k - within;
        const int32_t width = first + p->block <= p->size ? p->block : p->last;
        const EK_W *const row = w + first * length + within / 2 * 4 + within % 2;
        const int32_t of_row = first * groups + within;
        for (int32_t i = 0; i < p->n; i++) {
            const int32_t side = i % 4, at = (i - side + side % 2 * 2) * width + side / 2 * 2;
            EK_T_ACC v = row[at];
            if (within % 2 != 0 && row[at - 1] < 0)
                v += 1; /* the pair's lower byte took it */
            EK_IF_ZERO(v -= EK_LOAD_Z(EK_AT_Z(zero, of_row + i / p->group * width));)
            *y++ = EK_STORE_T(v * EK_LOAD_C(scale[of_row + i / p->group * width]));
        }
    }
}
