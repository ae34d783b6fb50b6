/* int8 function by table with Helium. Sixteen numbers are looked up at once.
 * @work inputs, positions */
#include "edgekit/contracts/table_s8.h"

EK_KERNEL void EK_FN(const int8_t *x, const int8_t *table, int8_t *y, const struct EK_STRUCT *p)
{
    ek_mve_look_up(x, table, y, p->n);
}
