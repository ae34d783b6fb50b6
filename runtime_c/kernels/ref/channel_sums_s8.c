/* Sums of the channels of an image, some of its rows at a time.
 * @apart @work calls 20, outputs 4, inputs 3 */
#include "edgekit/contracts/channel_sums_s8.h"

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const int32_t *y0, int32_t *y, const struct EK_STRUCT *p)
{
    for (int32_t c = 0; y0 != y && c < p->channels; c++)
        y[c] = y0[0];
    for (int32_t n = 0; n < p->n; n++, x += p->channels)
        for (int32_t c = 0; c < p->channels; c++)
            y[c] += x[c];
}
