/* Rows of a table of integers with a scale for each group.
 * @also gather_groupwise_symmetric @when block == 1 @pack w: O I @pack scale: O I @pack zero: O I
 * @work padded products 0.287, calls, inputs, outputs */
/* Rows of a table of integers with a scale for each group, which lies as a fully connected layer reads it, too: weights
 * of several outputs side by side.
 * @as ref/gather_groupwise.blocks @without when @when block > 1 and depth == 1 and not carry
 * @pack w: O/{block}!{last} I o{block} @pack scale: O/{block}!{last} I o{block}
 * @pack zero: O/{block}!{last} I o{block} @work padded products 0.259 */
/* Rows of a table of bytes with a scale for each group, which lies as a layer of several inputs at a time reads it, too.
 * @as ref/gather_groupwise.pieces W=s8 like ref/gather_groupwise.blocks @without when
 * @when depth > 1 and block > 1 @pack w: O/{block}!{last} I/{depth}! o{block} i{depth}
 * @work padded products 0.273, calls, outputs, positions, rest cells */
#include "edgekit/contracts/gather_groupwise.h"

EK_KERNEL void EK_FN(const EK_W *EK_RESTRICT w, const EK_C *EK_RESTRICT scale,
    EK_IF_ZERO(const EK_Z *EK_RESTRICT zero, ) const EK_I *EK_RESTRICT index, EK_T *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    const int32_t groups = (p->n + p->group - 1) / p->group;
    const int32_t length = (p->n + p->depth - 1) / p->depth * p->depth;
    for (int32_t r = 0; r < p->rows; r++) {
        EK_I_ACC k = EK_LOAD_I(index[r]);
        k = k < 0 ? k + p->size : k;
        k = k < 0 ? 0 : k < p->size ? k : p->size - 1;
        const int32_t within = (int32_t)k % p->block, first = (int32_t)k - within;
        const int32_t width = first + p->block <= p->size ? p->block : p->last;
        const int32_t row = first * length + within * p->depth, of_row = first * groups + within;
        for (int32_t i = 0; i < p->n; i++) {
            const int32_t of_group = of_row + i / p->group * width, place = i % p->depth;
            EK_T_ACC v = EK_LOAD_W(EK_AT_W(w, row + (i - place) * width + place));
            EK_IF_ZERO(v -= EK_LOAD_Z(EK_AT_Z(zero, of_group));)
            *y++ = EK_STORE_T(v * EK_LOAD_C(scale[of_group]));
        }
    }
}
