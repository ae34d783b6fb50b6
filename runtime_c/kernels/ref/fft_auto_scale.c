/* Samples scaled to all bits. */
#include "edgekit/contracts/fft_auto_scale.h"

EK_KERNEL void EK_FN(const int16_t *x, int16_t *y, int32_t *EK_RESTRICT bits, const struct EK_STRUCT *p)
{
    int32_t largest = 0, room = 0;
    for (int32_t i = 0; i < p->n; i++) {
        if (x[i] > largest)
            largest = x[i];
        else if (-x[i] > largest)
            largest = x[i] > INT16_MIN ? -x[i] : INT16_MIN;
    }
    while (largest > 0 && largest < 1 << 14) {
        largest *= 2;
        room++;
    }
    for (int32_t i = 0; i < p->n; i++)
        y[i] = (int16_t)(x[i] * (1 << room));
    bits[0] = room;
}
