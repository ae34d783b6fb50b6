/* Integers to reals.
 * @work calls, inputs */
/* Integers to reals with Helium: compilers find the vectors.
 * @as mve/dequantize @work inputs, positions */
#include "edgekit/contracts/dequantize.h"

EK_KERNEL void EK_FN(const EK_A *x, float *y, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->n; i++) {
        y[i] = p->scale * (float)(x[i] - p->zero);
    }
}
