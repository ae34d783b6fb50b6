/* Triangular filters over energies. */
#include "edgekit/contracts/filter_bank.h"

EK_KERNEL void EK_FN(const uint32_t *EK_RESTRICT x, const int16_t *EK_RESTRICT weights,
    const int16_t *EK_RESTRICT unweights, const int16_t *EK_RESTRICT bands, uint64_t *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    uint64_t falling = 0; /* the sum of unweights of the band before */
    for (int32_t band = 0; band <= p->channels; band++, bands += 3) {
        const uint32_t *const energy = x + bands[0];
        uint64_t rising = falling;
        falling = 0;
        for (int32_t i = 0; i < bands[2]; i++) {
            rising += (uint64_t)weights[bands[1] + i] * energy[i];
            falling += (uint64_t)unweights[bands[1] + i] * energy[i];
        }
        if (band)
            y[band - 1] = rising;
    }
}
