/* int8 function by table. Four numbers a turn: compilers for small processors do not unroll loops.
 * @work inputs, positions */
#include "edgekit/contracts/table_s8.h"

static EK_SHARED void EK_FN_run(const int8_t *x, const int8_t *middle, int8_t *y, int32_t count)
{
    for (; count >= 4; count -= 4, x += 4, y += 4) {
        const int8_t a = middle[x[0]], b = middle[x[1]], c = middle[x[2]], d = middle[x[3]];
        y[0] = a, y[1] = b, y[2] = c, y[3] = d;
    }
    for (; count > 0; count--)
        *y++ = middle[*x++];
}

EK_KERNEL void EK_FN(const int8_t *x, const int8_t *table, int8_t *y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, table + 128, y, p->n);
}
