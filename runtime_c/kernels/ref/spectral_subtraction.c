/* Channels less the noise in them. */
#include "edgekit/contracts/spectral_subtraction.h"

EK_KERNEL void EK_FN(const uint32_t *EK_RESTRICT x, const uint32_t *noise, uint32_t *next,
    uint32_t *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->n; i++) {
        const uint64_t take = (uint64_t)(i & 1 ? p->alternate_smoothing : p->smoothing);
        const uint64_t keep = (uint64_t)(i & 1 ? p->alternate_one_minus_smoothing : p->one_minus_smoothing);
        const uint32_t scaled = x[i] << p->smoothing_bits;
        const uint32_t estimate = (uint32_t)((scaled * take + noise[i] * keep) >> p->bits);
        const uint32_t known = estimate < scaled ? estimate : scaled;
        const uint32_t least = (uint32_t)((x[i] * (uint64_t)p->min_signal_remaining) >> p->bits);
        const uint32_t rest = (scaled - known) >> p->smoothing_bits;
        next[i] = p->clamping ? known : estimate;
        y[i] = rest > least ? rest : least;
    }
}
