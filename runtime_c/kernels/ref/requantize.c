/* Integers to integers of another scale.
 * @work inputs, positions */
#include "edgekit/contracts/requantize.h"

EK_KERNEL void EK_FN(const EK_A *x, EK_Y *y, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->n; i++) {
        const int32_t acc = x[i] - p->x_zero;
        y[i] = EK_STORE_Y(ek_clamp_s32(p->zero + EK_EXPR, p->lo, p->hi));
    }
}
