/* The energy of frequencies. */
#include "edgekit/contracts/spectrum_energy.h"

EK_KERNEL void EK_FN(const int16_t *EK_RESTRICT x, uint32_t *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->n; i++) {
        const int32_t re = x[2 * i], im = x[2 * i + 1];
        y[i] = i >= p->start && i < p->end ? (uint32_t)(re * re) + (uint32_t)(im * im) : 0;
    }
}
