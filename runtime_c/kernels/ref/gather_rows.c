/* Rows of a table that lies as a fully connected layer reads it, too: weights of several outputs side by side.
 * @pack x: O/{block}!{last} I o{block} */
#include "edgekit/contracts/gather_rows.h"

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT x, const EK_I *EK_RESTRICT index, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++) {
        EK_I_ACC k = EK_LOAD_I(index[r]);
        k = k < 0 ? k + p->size : k;
        k = k < 0 ? 0 : k < p->size ? k : p->size - 1;
        const int32_t within = (int32_t)k % p->block, first = (int32_t)k - within;
        const int32_t width = first + p->block <= p->size ? p->block : p->last;
        const EK_T *from = x + first * p->n + within;
        for (int32_t i = 0; i < p->n; i++, from += width)
            *y++ = *from;
    }
}
