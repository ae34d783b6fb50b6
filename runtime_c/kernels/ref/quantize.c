/* Reals to integers.
 * @work calls, inputs */
#include "edgekit/contracts/quantize.h"

EK_KERNEL void EK_FN(const float *x, EK_Y *y, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->n; i++) {
        const float v = x[i] / p->scale;
        const float r = EK_EXPR + (float)p->zero;
        y[i] = (EK_Y)(r <= (float)p->lo ? p->lo : r >= (float)p->hi ? p->hi : r == r ? (int32_t)r : 0);
    }
}
