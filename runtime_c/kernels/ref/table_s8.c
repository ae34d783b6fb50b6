/* int8 function by table.
 * @work inputs, positions */
#include "edgekit/contracts/table_s8.h"

EK_KERNEL void EK_FN(const int8_t *x, const int8_t *table, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->n; i++)
        y[i] = table[x[i] + 128];
}
